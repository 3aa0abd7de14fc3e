"""Formulas as MathML, which browsers draw themselves: no script, no font and no request to a network.

Docutils brings the converter from LaTeX; Sphinx has renderers that need a script (MathJax) or a TeX installation (images) only.
"""

from docutils import nodes
from docutils.utils.math import MathError, toplevel_code
from docutils.utils.math.latex2mathml import tex2mathml


def _converted(latex: str, block: bool, node) -> str:
    try:
        return tex2mathml(latex, as_block=block)
    except MathError as error:
        raise ValueError(f"{node.source}:{node.line}: the formula {latex!r} is no LaTeX: {error}") from error


def visit_inline(self, node) -> None:
    self.body.append(_converted(node.astext(), False, node))
    raise nodes.SkipNode


def visit_block(self, node) -> None:
    latex = node.astext().strip()
    if r"\\" in toplevel_code(latex) or "&" in toplevel_code(latex):
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    self.body.append(f'<div class="math-block">{_converted(latex, True, node)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
