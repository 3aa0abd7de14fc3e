"""Names in code, such as `AnchorTopics` or `latentia.save`, become links to their pages, while the Markdown stays plain."""

from docutils import nodes
from sphinx.util.nodes import make_refnode


def _targets(objects) -> dict[str, object]:
    """Objects by their full name and by that without the package; classes by their own name, where only one has it."""
    found: dict[str, object] = {}
    short: dict[str, dict] = {}
    for name, entry in objects.items():
        if entry.objtype in ("class", "function", "exception", "module"):
            found[name] = found[name.removeprefix("latentia.")] = entry
            if entry.objtype == "class":
                short.setdefault(name.rsplit(".", 1)[1], {})[entry.docname] = entry  # aliases share a page
    found.update({name: next(iter(pages.values())) for name, pages in short.items() if len(pages) == 1})
    return found


def link(app, doctree, docname) -> None:
    if app.builder.format != "html" or docname.startswith("generated"):
        return
    targets = _targets(app.env.domains["py"].objects)
    for literal in list(doctree.findall(nodes.literal)):
        entry = targets.get(literal.astext().removesuffix("()"))
        parents = literal.parent, literal.parent.parent
        if entry is None or any(isinstance(parent, nodes.reference | nodes.title) for parent in parents):
            continue
        inside = literal.deepcopy()
        literal.replace_self(make_refnode(app.builder, docname, entry.docname, entry.node_id, inside))


def setup(app):
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
