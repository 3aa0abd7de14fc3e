"""Saved models that were damaged or made to harm: `load` says so, or returns a model that answers."""

import io
import json
import struct
import zipfile
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from fuzzing import budget, check_answer, defined, documented, fitted, models, twice_if_slow

import latentia
from latentia.fitting.base import Estimator

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
JUNK = [
    None,
    True,
    False,
    0,
    -1,
    3,
    2**31,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "auto",
    "a",
    "\x00",
    [],
    [1],
    {},
    {"list": []},
    {"list": [1, 2]},
    {"tuple": [0.5]},
    {"range": [0, 10**18, 1]},
    {"range": [0, 1, 0]},
    {"array": "header"},
    {"array": "components_", "object": True},
    {"csr": "x", "shape": [2, 2]},
    {"dict": [[[], 1]]},
    {"class": "os:system", "state": {}},
    {"class": "latentia.evidence.checks:Bound", "state": {"relation": "<=", "limit": 1.0}},
    {"class": "latentia.topics:AnchorTopics", "state": {}},
    {"class": "latentia.__main__:main", "state": {}},
]
TYPES = [
    "<f8",
    "<f4",
    "<f2",
    "<i8",
    "<i4",
    "|b1",
    "|u1",
    "<c16",
    "<M8[s]",
    "|O",
    "<U0",
    "<U3",
    "|S4",
    "|V8",
    ">f8",
    "<f16",
]


WHOLE = {"ProbabilityMatrix", "MixedMembershipBlockModel", "RichComponents"}  # use a model on all that it was fitted on


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """``saved(i)``: the bytes of the saved model of world i."""
    folder = tmp_path_factory.mktemp("saved")

    @cache
    def content(i):
        return latentia.save(fitted(i), folder / f"{i}").read_bytes()

    return content


@pytest.mark.parametrize("number", range(len(models())), ids=lambda i: f"{models()[i].name}-{i}")
def test_damaged_models(saved, tmp_path, number, capfd):
    assert case(tmp_path, saved, number, lambda content, _: content, None, "whole")
    for seed in range(number, budget(240, 15_000), len(models())):
        rng = np.random.default_rng(seed)
        change = [bytes_changed, bytes_changed, zip_changed, header_changed, header_changed, arrays_changed][
            int(rng.integers(6))
        ]
        case(tmp_path, saved, number, change, rng, seed)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("number", range(len(models())), ids=lambda i: f"{models()[i].name}-{i}")
def test_edited_models(saved, tmp_path, number, capfd):
    """Files that are sound, and hold what no fit makes."""
    for seed in range(budget(12, 500)):
        rng = np.random.default_rng([number, seed])
        case(tmp_path, saved, number, EDITS[int(rng.integers(len(EDITS)))], rng, seed)
    assert capfd.readouterr().err == ""


def case(folder, saved, number, change, rng, seed):
    """Whether a changed file is a model."""
    path = folder / "model.npz"
    path.write_bytes(change(saved(number), rng))
    try:
        return twice_if_slow(loads, path, models()[number])
    except BaseException as error:
        raise AssertionError(f"case {seed}: {change.__name__} of {models()[number].name}, world {number}") from error


def loads(path, world):
    """Whether the file is a model; one answers, or says why not."""
    model = None
    with documented():
        model = latentia.load(path)
    if model is None:
        return False
    assert isinstance(model, Estimator)
    if not hasattr(model, "evidence_"):  # one that was not fitted
        return True
    with documented():
        str(model.evidence_), model.evidence_.table(), model.evidence_.components
    same = type(model).__name__ == world.name
    tables = [*world.data.values()] if same else [world.table[:5]]
    if same and world.name not in WHOLE:
        tables = [table[:50] for table in tables if len_of(table) == len_of(world.table)]
    for use in world.uses:
        for given in {1, 2 if "V" in world.data and same else 1}:
            if hasattr(model, use):
                with documented():
                    answer = getattr(model, use)(*tables[:given])
                    answer = defined(answer) if use in world.undefined else answer
                    check_answer(answer, use in world.sums)
    if hasattr(model, "score"):
        with documented():
            assert np.isfinite(model.score(*tables))
    if hasattr(model, "sample"):
        with documented():
            model.sample(3)
    with documented():
        model.report(path.with_name("page.html"))
    if same:
        with documented():
            model.report(path.with_name("page.html"), **world.data)
    return True


def len_of(table):
    return table.shape[0] if hasattr(table, "shape") else len(table)


# --- changes ------------------------------------------------------------------------------------------------------


def bytes_changed(content, rng):
    """Bits and stretches of bytes: flipped, overwritten, left out, repeated, cut off."""
    content = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 10]))):
        kind, at = rng.integers(6), int(rng.integers(len(content) + 1))
        n = int(rng.choice([1, 2, 4, 50, 1000]))
        if kind == 0 and at < len(content):
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[at : at + n] = rng.bytes(len(content[at : at + n]))
        elif kind == 2:
            content[at : at + n] = bytes([int(rng.choice([0, 255]))]) * len(content[at : at + n])
        elif kind == 3:
            del content[at : at + n]
        elif kind == 4:
            content[at:at] = content[at : at + n]
        else:
            del content[at:]
    return bytes(content)


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def zip_changed(content, rng):
    """Members left out, renamed, exchanged, packed otherwise; sizes, flags and methods that lie; heads that lie."""
    members = list(members_of(content).items())
    kind, at = rng.integers(8), int(rng.integers(len(members)))
    name, inside = members[at]
    if kind == 0:
        del members[at]
    elif kind == 1:
        members[at] = (str(rng.choice(["../../x.npy", "a", "header.npy", "\u00e9.npy", name + "/"])), inside)
    elif kind == 2:
        members[at] = (name, members[int(rng.integers(len(members)))][1])
    elif kind == 3:
        members[at] = (name, npy_lies(inside, rng))
    elif kind == 4:
        return zipped(members, int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])))
    elif kind == 5:
        return directory_lies(content, rng)
    elif kind == 6:
        members[at] = (name, inside[: int(rng.integers(len(inside)))])
    else:
        members[at] = (name, inside + bytes(int(rng.integers(1, 100))))
    return zipped(members)


def npy_lies(inside, rng):
    """An array whose head declares another shape or type."""
    big = int(rng.choice([2**31, 2**40, 10**18]))
    shape = [(), (0,), (1,), (big,), (big, big), (-1,), (2, 3), (1,) * 40, (True,), (0, big)][int(rng.integers(10))]
    head = f"{{'descr': '{rng.choice(TYPES)}', 'fortran_order': {rng.random() < 0.5}, 'shape': {shape}, }}"
    if rng.random() < 0.1:
        head = str(rng.choice(["(" * 500, "1", "{}", "{'descr': [('a', '<f8')], 'fortran_order': 0, 'shape': (1,)}"]))
    start = 10 + struct.unpack("<H", inside[8:10])[0]
    return (
        inside[:6]
        + bytes([int(rng.choice([1, 1, 1, 2, 3, 9])), 0])
        + struct.pack("<H", len(head))
        + head.encode()
        + inside[start:]
    )


def directory_lies(content, rng):
    """An entry of the directory, and sometimes the head of the member itself, with another field."""
    content = bytearray(content)
    places = [i for i in range(len(content) - 4) if content[i : i + 4] == b"PK\x01\x02"]
    at = places[int(rng.integers(len(places)))]
    field, size = [(8, "H"), (10, "H"), (16, "I"), (20, "I"), (24, "I"), (28, "H"), (42, "I")][int(rng.integers(7))]
    value = int(rng.choice([0, 1, 8, 12, 99, 2**16 - 1, 2**31, 2**32 - 1]))
    struct.pack_into("<" + size, content, at + field, value % (1 << (8 * struct.calcsize(size))))
    return bytes(content)


def header_changed(content, rng):
    """A value somewhere in the header exchanged for another, added or left out."""
    members = members_of(content)
    header = json.loads(read(members["header.npy"]).tobytes())
    for _ in range(int(rng.choice([1, 1, 3]))):
        nodes = list(places_of(header))
        holder, key = nodes[int(rng.integers(len(nodes)))]
        kind = rng.integers(6)
        junk = deepcopy(JUNK[int(rng.integers(len(JUNK)))])
        if kind == 0 and isinstance(holder, dict):
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[str(rng.choice(["x", "fit", "_seed", "components_", "array", "predict_proba"]))] = junk
        elif kind == 2:
            other, place = nodes[int(rng.integers(len(nodes)))]
            holder[key] = json.loads(json.dumps(other[place]))
        elif kind == 3 and isinstance(holder[key], (int, float)):
            holder[key] = type(holder[key])(holder[key] * 2 + 1)
        else:
            holder[key] = junk
        if not isinstance(header, dict) or not header:
            break
    text = json.dumps(header).encode()
    if rng.random() < 0.03:
        text = [b"[" * 200_000, b"\xff", b"", b"9" * 5000, text[:-5]][int(rng.integers(5))]
    members["header.npy"] = written(np.frombuffer(text, np.uint8))
    return zipped(members.items())


def places_of(value):
    """Every place in a JSON value that holds another one."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from places_of(value[key])


def arrays_changed(content, rng):
    """An array with other numbers, another shape or another type."""
    members = members_of(content)
    name = str(rng.choice([name for name in members if name != "header.npy"]))
    array = read(members[name])
    kind = rng.integers(8)
    if kind == 0 and array.size and array.dtype.kind == "f":
        array.flat[int(rng.integers(array.size))] = rng.choice([np.nan, np.inf, -np.inf, -1.0, 2.0, 1e300, 1e-320])
    elif kind == 1 and array.size and array.dtype.kind in "iu":
        array.flat[int(rng.integers(array.size))] = rng.choice([-1, 2**31, 2**62, 7]).astype(array.dtype)
    elif kind == 2:
        array = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    elif kind == 3:
        array = array.T if array.ndim > 1 else array[None]
    elif kind == 4:
        array = array.astype(rng.choice(["<f4", "<i8", "<U8", "|b1", ">f8", "<c16"]))
    elif kind == 5:
        array = array * int(rng.choice([0, -1, 3])) if array.dtype.kind in "if" else array
    elif kind == 6:
        array = np.concatenate([array, array]) if array.ndim else array
    else:
        array = rng.permutation(array) if array.ndim else array
    members[name] = written(array)
    return zipped(members.items())


def read(inside):
    return np.load(io.BytesIO(inside), allow_pickle=False)


def written(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def array_edited(content, rng):
    """One array: entries, a row or all of it scaled or replaced; another type or shape; bits of its numbers flipped."""
    members = members_of(content)
    name = str(rng.choice([name for name in members if name != "header.npy"]))
    array = read(members[name])
    kind = rng.integers(5)
    if kind == 0:
        array = array.astype(rng.choice(RETYPED))
    elif kind == 1:
        array = RESHAPED[int(rng.integers(len(RESHAPED)))](array)
    elif kind == 2 and array.size:
        array = np.frombuffer(flipped(array.tobytes(), rng), array.dtype).reshape(array.shape)
    elif array.size and array.dtype.kind in "iuf":
        factor = rng.choice(FACTORS)
        rows = [slice(None), [0], rng.integers(array.shape[0], size=2)][int(rng.integers(3))] if array.ndim else ...
        array = array.copy()
        with np.errstate(all="ignore"):
            array[rows] = (array[rows] * factor if kind == 3 else np.full_like(array[rows], factor)).astype(array.dtype)
    members[name] = written(array)
    return zipped(members.items())


RETYPED = ["f2", "f4", "g", "i8", "i4", "i1", "u1", "u8", "?", "c16", "U8", "S4", ">f8", "M8[s]"]
RESHAPED = [
    lambda a: a[:-1],
    lambda a: a[:0],
    lambda a: a[..., :-1],
    lambda a: a[None],
    lambda a: a.T,
    lambda a: a.ravel(),
    lambda a: a[..., None],
    lambda a: np.concatenate([a, a]),
    lambda a: np.concatenate([a, a], axis=-1),
    lambda a: a[::-1],
    lambda a: a[:1] * 1,
]
FACTORS = [0.0, -1.0, -0.0, 1e-320, 1e-300, 1e-200, 1e-90, 1e-30, 0.5, 3.0, 1e9, 1e30, 1e90, 1e200, np.nan, np.inf]


def flipped(content, rng):
    content = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 8]))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def member_edited(content, rng):
    """An array left out, or under the name of another one."""
    members = members_of(content)
    names = [name for name in members if name != "header.npy"]
    one, other = str(rng.choice(names)), str(rng.choice(names))
    if rng.random() < 0.3:
        del members[one]
    elif rng.random() < 0.3:
        members["other.npy"] = members.pop(one)
    else:
        members[one], members[other] = members[other], members[one]
    return zipped(members.items())


def attribute_edited(content, rng):
    """A parameter, an attribute or a field of a record: left out, under another name, or with another value."""
    members = members_of(content)
    header = json.loads(read(members["header.npy"]).tobytes())
    places = [place for place in fields_of(header["attributes"]) if "evidence_" not in place[1]]
    places += list(fields_of(header["parameters"])) + list(fields_of(header["attributes"]["evidence_"]["state"]))
    holder, key = places[int(rng.integers(len(places)))]
    kind, value = rng.integers(6), holder[key]
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key + "x"] = holder.pop(key)
    elif kind == 2:
        other, place = places[int(rng.integers(len(places)))]
        holder[key], other[place] = other[place], value
    elif kind == 3 and type(value) in (int, float):
        holder[key] = (
            value * float(rng.choice(FACTORS)) if type(value) is float else value + int(rng.choice([-2, 1, 7]))
        )
    elif kind == 4 and isinstance(value, dict) and "csr" in value:
        value["shape"] = [int(size + rng.choice([-1, 0, 1])) for size in value["shape"]]
    else:
        holder[key] = deepcopy(OTHER_VALUES[int(rng.integers(len(OTHER_VALUES)))])
    members["header.npy"] = written(np.frombuffer(json.dumps(header).encode(), np.uint8))
    return zipped(members.items())


OTHER_VALUES = [
    None, True, False, 0, -1, 3, 2**31, 2**63, 10**400, 0.0, -0.5, 1e-320, 1e-90, 1e90, 1e308, float("nan"), float("inf"),
    "", "auto", "a", "full", {"list": []}, {"list": [1, 2]}, {"tuple": []}, {"dict": []}, {"dict": [["a", 1]]},
]  # fmt: skip


def fields_of(state):
    """Attributes, and the fields of records among them."""
    for key, value in state.items():
        yield state, key
        for one in [value, *(value.get("list", ()) if isinstance(value, dict) else ())]:
            if isinstance(one, dict) and "class" in one:
                yield from fields_of(one["state"])


def bytes_edited(content, rng):
    return flipped(content, rng)


EDITS = [array_edited, array_edited, array_edited, attribute_edited, attribute_edited, member_edited, bytes_edited]
