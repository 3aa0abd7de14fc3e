"""Saved models that were damaged or made to harm: `load` says so, or returns a model that answers."""

import io
import json
import struct
import zipfile
from copy import deepcopy

import numpy as np
import pytest
from fuzzing import budget, check_answer, documented, worlds

import latentia
from latentia._base import Estimator

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


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a saved model of every world."""
    folder = tmp_path_factory.mktemp("saved")
    files = []
    for i, world in enumerate(worlds()):
        model = type(world.estimator)(**world.estimator.get_params()).fit(**world.data)
        files.append(latentia.save(model, folder / f"{i}").read_bytes())
    return files


@pytest.mark.parametrize("part", range(4))
def test_damaged_models(saved, tmp_path, part, capfd):
    path, opened = tmp_path / "model.npz", 0
    for seed in range(part, budget(400, 15_000), 4):
        rng = np.random.default_rng(seed)
        number = int(rng.integers(len(saved)))
        mutate = [bytes_changed, bytes_changed, zip_changed, header_changed, header_changed, arrays_changed][
            int(rng.integers(6))
        ]
        path.write_bytes(mutate(saved[number], rng))
        try:
            opened += loads(path, worlds()[number])
        except BaseException as error:
            raise AssertionError(f"case {seed}: {mutate.__name__} of {worlds()[number].name}") from error
    assert opened
    assert capfd.readouterr().err == ""


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
        str(model.evidence_)
    table = world.table if type(model).__name__ == world.name else world.table[:5]
    for use in world.uses:
        if hasattr(model, use):
            with documented():
                check_answer(getattr(model, use)(table[:50] if world.name != "ProbabilityMatrix" else table))
    if hasattr(model, "sample"):
        with documented():
            model.sample(3)
    return True


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
