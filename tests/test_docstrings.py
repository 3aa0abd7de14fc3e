"""Every public name says what it is, what it takes, what it gives, with which shapes, what goes wrong, and where it is from."""

import inspect
import re
from functools import cache
from importlib import import_module
from itertools import pairwise

import pytest
from sklearn.base import BaseEstimator

from latentia import families
from latentia.fitting.records import attributes_of, fields_of

FAMILIES = tuple(family.package for family in families.FAMILIES)
ROOMS = (
    "clusters", "datasets", "datasets.arrays", "datasets.baskets", "datasets.images", "datasets.instances", "datasets.labelled",
    "datasets.planted", "datasets.readers", "datasets.sequences", "datasets.tables", "datasets.views", "dictionary.clusters",
    "effects", "evidence", "evidence.bounds", "exceptions", "families", "likelihood", "linalg", "metrics", "moments", "passes",
    "persistence", "plots", "report", "simplex", "summaries", "tensor", "words",
)  # fmt: skip
SECTIONS = [
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
]
FROM_SCIKIT_LEARN = ("get_metadata_routing", "get_params", "set_params", "set_output", "fit_transform")


def names_of(module):
    """The functions and classes that a module makes public, by their names."""
    package = import_module(f"latentia.{module}" if module else "latentia")
    things = {f"{package.__name__}.{name}": getattr(package, name) for name in package.__all__}
    return {name: thing for name, thing in things.items() if inspect.isclass(thing) or inspect.isfunction(thing)}


def estimators():
    found = [thing for family in FAMILIES for thing in names_of(family).values() if inspect.isclass(thing)]
    return [pytest.param(thing, id=thing.__name__) for thing in found if issubclass(thing, BaseEstimator)]


@cache
def sections(thing):
    """The parts of a docstring in numpydoc format: text before the first section under "", and the others by their names."""
    lines = (inspect.getdoc(thing) or "").split("\n")
    heads = [i for i in range(len(lines) - 1) if lines[i] and re.fullmatch("-{3,}", lines[i + 1])]
    parts = {"": "\n".join(lines[: heads[0]] if heads else lines).strip()}
    for start, stop in pairwise([*heads, len(lines)]):
        parts[lines[start]] = "\n".join(lines[start + 2 : stop]).strip("\n")
    return parts


def entries(thing, section):
    """Names and types of a section: ``i, j : int`` is two of them."""
    found = {}
    for line in sections(thing).get(section, "").split("\n"):
        if line and not line[0].isspace():
            names, colon, kind = line.partition(" : ")
            found.update(
                {name.lstrip("*"): kind for name in (names.split(", ") if colon or section != "Returns" else [line])}
            )
            if section == "Attributes":
                found.update(dict(re.findall(r", (\w+_) : ([^,]*, shape|[^,]*)", kind)))
    return found


def parameters(thing):
    return [name for name in inspect.signature(inspect.unwrap(thing)).parameters if name not in ("self", "cls")]


def methods(thing):
    for name in dir(thing):
        method = getattr(thing, name)
        ours = callable(method) and (getattr(inspect.unwrap(method), "__module__", None) or "").startswith("latentia")
        if ours and not name.startswith("_") and name not in FROM_SCIKIT_LEARN and not name.endswith("_request"):
            yield name, method


@pytest.mark.parametrize("module", ["", *FAMILIES, *ROOMS])
def test_every_public_name_has_a_docstring_in_order(module):
    for name, thing in names_of(module).items():
        parts = sections(thing)
        assert parts[""], f"{name}: no docstring"
        assert not inspect.isclass(thing) or thing.__doc__, f"{name}: the docstring is that of a base class"
        first = parts[""].split("\n\n")[0].replace("\n", " ")
        assert re.match(r"[^\n]*[.:?]$", first), f"{name}: the first paragraph is no sentence"
        heads = [head for head in parts if head]
        assert set(heads) <= set(SECTIONS), f"{name}: {heads}"
        assert heads == sorted(heads, key=SECTIONS.index), f"{name}: {heads}"


@pytest.mark.parametrize("module", ["", *FAMILIES, *ROOMS])
def test_functions_document_no_parameter_that_they_do_not_have(module):
    for name, thing in functions_of(module).items():
        if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(thing).parameters.values()):
            continue  # options of several methods
        assert set(entries(thing, "Parameters")) <= set(parameters(thing)), name


@pytest.mark.parametrize("module", ["", *FAMILIES])
def test_functions_of_families_say_what_they_take_give_and_refuse(module):
    for name, thing in functions_of(module).items():
        needed = {"Parameters", "Raises"} | (set() if thing.__name__ == "save" else {"Returns"})
        assert needed <= set(sections(thing)), name
        assert set(entries(thing, "Parameters")) == set(parameters(thing)), name


def functions_of(module):
    return {name: thing for name, thing in names_of(module).items() if inspect.isfunction(thing)}


@pytest.mark.parametrize("thing", estimators())
def test_estimators_have_the_model_parameters_attributes_sources_and_an_example(thing):
    parts = sections(thing)
    assert {"Parameters", "Attributes", "References", "Examples"} <= set(parts)
    documented = entries(thing, "Parameters")
    assert set(documented) == set(parameters(thing.__init__))
    assert all(documented.values()), "every parameter has a type"


@pytest.mark.parametrize("thing", estimators())
def test_arrays_that_estimators_learn_have_shapes(thing):
    for name, kind in entries(thing, "Attributes").items():
        if "ndarray" in kind:
            assert "shape" in kind, f"{name} : {kind}"


def n_sizes(kind):
    """Of each shape that a description names, how many sizes it has."""
    shapes = re.findall(r"shape \(((?:[^()]|\([^()]*\))*)\)", kind)
    return {len([size for size in re.sub(r"\([^()]*\)", "", shape).split(",") if size.strip()]) for shape in shapes}


@pytest.mark.parametrize("thing", estimators())
def test_attributes_that_are_declared_are_those_that_are_documented(thing):
    documented = entries(thing, "Attributes")
    declared = {name: one for name, (_, one, _) in fields_of(thing).items() if name.endswith("_") and name[0] != "_"}
    known = attributes_of(thing) | set(dir(thing))
    assert not set(documented) - known
    learned = {name for name in declared if not hasattr(thing, name)}
    assert not learned - documented.keys() - {"n_features_in_", "n_components_"}  # as the parameter says
    for name in declared.keys() & documented.keys():
        letters = [] if declared[name] is None else declared[name].shape.split()
        if n_sizes(documented[name]) and "..." not in letters and "#" not in str(letters):
            assert n_sizes(documented[name]) == {len(letters)}, name


@pytest.mark.parametrize("thing", estimators())
def test_methods_of_estimators_say_what_they_take_and_give(thing):
    for name, method in methods(thing):
        parts = sections(method)
        assert parts[""], f"{name}: no docstring"
        missing = set(parameters(method)) - set(entries(method, "Parameters"))
        assert missing <= {"data", "options"}, f"{name}: {missing}"
        annotation = inspect.signature(inspect.unwrap(method)).return_annotation
        assert annotation in ("None", None) or "Returns" in parts, f"{name} gives {annotation}"
        if name == "fit":
            assert "Raises" in parts
        for kind in (*entries(method, "Parameters").values(), *entries(method, "Returns")):
            if re.search(r"\bndarray\b|\barray-like\b", kind) and "broadcast" not in kind and " int" not in kind:
                assert "shape" in kind or "view" in kind, f"{name}: {kind}"
