"""Saved models: files that claim what they do not hold, headers of other versions, attributes that make no sense."""

import copy
import io
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from fuzzing import fitted, worlds

import latentia
from latentia import LatentiaError, persistence
from latentia.mixtures import SphericalGaussianMixture
from latentia.system import scratch as _scratch

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


UNBOUNDED = {"memberships_", "averages_", "_words.document_frequency"}  # NaN and infinity have a meaning
LABELS = {"classes_", "symbols_", "_labels.classes", "_kind.alphabet"}


@pytest.fixture(scope="module")
def model():
    return next(fit_of(world) for world in worlds() if world.name == "AnchorTopics")


def fit_of(world):
    return fitted(worlds().index(world))


@pytest.fixture
def saved(model, tmp_path):
    return latentia.save(model, tmp_path / "model.npz")


def parts(path):
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(arrays.pop("header").tobytes()), arrays


def rewrite(path, header, arrays):
    np.savez(path, **arrays, header=np.frombuffer(json.dumps(header).encode(), np.uint8))


def refused(path, match="not a model saved by latentia, or damaged"):
    with pytest.raises(LatentiaError, match=match) as error:
        latentia.load(path)
    assert str(path) in str(error.value)


# --- versions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", worlds(), ids=lambda world: world.name)
def test_every_fit_is_loaded_as_it_was(world, tmp_path):
    own = fit_of(world)
    loaded = latentia.load(latentia.save(own, tmp_path / "model"))
    assert vars(loaded).keys() == vars(own).keys()
    for use in world.uses:
        one, other = (getattr(each, use)(world.table) for each in (own, loaded))
        assert str(one) == str(other)


def wrong(array):
    """An array of another number of axes, and one that has an entry out of all ranges."""
    yield array[None]
    if array.dtype.kind == "f" and array.size:
        yield (
            np.concatenate([np.full(1, 1e200 if array.itemsize == 8 else 1e30), array.ravel()[1:]])
            .astype(array.dtype)
            .reshape(array.shape)
        )
    if array.dtype.kind == "i" and array.size:
        yield np.concatenate([np.full(1, np.iinfo(array.dtype).min), array.ravel()[1:]]).reshape(array.shape)


@pytest.mark.parametrize("world", worlds(), ids=lambda world: world.name)
def test_every_array_of_a_model_is_checked(world, tmp_path):
    saved = latentia.save(fit_of(world), tmp_path / "model.npz")
    header, arrays = parts(saved)
    passed = []
    for name, array in arrays.items():
        if name in ("feature_names_in_", *header["parameters"]):  # which have checks of their own
            continue
        for number, other in enumerate(wrong(array)):
            rewrite(saved, header, arrays | {name: other})
            try:
                latentia.load(saved)
                passed.append((name, number))
            except LatentiaError:
                pass
    assert [one for one in passed if one[1] == 0 or one[0] not in UNBOUNDED | LABELS] == []


def test_the_header_names_format_version_class_and_parameters(saved):
    header, _ = parts(saved)
    assert (header["format"], header["version"]) == (5, latentia.__version__)
    assert header["class"] == "latentia.topics:AnchorTopics"
    assert header["parameters"]["n_components"] == 3
    assert set(header) == {"format", "version", "class", "parameters", "attributes"}


def test_what_a_later_version_adds_is_ignored_and_what_it_leaves_out_has_its_default(saved, model):
    header, arrays = parts(saved)
    header |= {"checksum": 5, "notes": {"by": ["someone"]}}
    header["parameters"] |= {"new_parameter": 3}
    header["parameters"].pop("dirichlet")
    header["attributes"]["_words"]["state"]["new_field"] = 7
    header["attributes"]["_documents"]["state"].pop("length")
    rewrite(saved, header, arrays)
    loaded = latentia.load(saved)
    assert loaded.get_params() == model.get_params()
    assert loaded._documents.length == 2.0


@pytest.mark.parametrize("number", [1, 2, 3, 4, 10**9])
def test_a_file_of_another_format_says_which_version_wrote_it(saved, number):
    header, arrays = parts(saved)
    rewrite(saved, header | {"format": number, "version": "7.1"}, arrays)
    refused(saved, f"written in format {number} by latentia 7.1; this version reads format 5. Fit the model again")


# --- headers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        5,
        [],
        "x",
        None,
        {},
        {"format": 1, "model": 5},
        {"format": True},
        {"format": 5, "model": 5},
        {"format": 5},
        {"format": 5, "class": 5, "parameters": {}, "attributes": {}},
        {"format": 5, "class": "latentia.topics:AnchorTopics", "parameters": 5, "attributes": {}},
        {"format": 5, "class": "latentia.evidence.checks:Check", "parameters": {}, "attributes": {}},
        {"format": 5, "class": "latentia.__main__:main", "parameters": {}, "attributes": {}},
    ],
)
def test_headers_that_are_none(tmp_path, header):
    rewrite(tmp_path / "m.npz", header, {})
    with pytest.raises(LatentiaError):
        latentia.load(tmp_path / "m.npz")


@pytest.mark.parametrize("text", [b"[" * 100_000, b"9" * 5000, b"\xff\xfe", b"", b'{"format": 5'])
def test_headers_that_are_no_json(tmp_path, text):
    np.savez(tmp_path / "m.npz", header=np.frombuffer(text, np.uint8))
    refused(tmp_path / "m.npz")


def test_deeply_nested_values(saved):
    header, arrays = parts(saved)
    for depth in (300, 900, 100_000):
        text = json.dumps(header).replace(
            '"attributes": {', '"attributes": {"x_": ' + '{"list": [' * depth + "1" + "]}" * depth + ", "
        )
        np.savez(saved, **arrays, header=np.frombuffer(text.encode(), np.uint8))
        if depth == 300:
            assert latentia.load(saved).x_
        else:
            refused(saved)


@pytest.mark.parametrize("item", [b"{}", b'{"a":1}', b'"ab"'])
@pytest.mark.parametrize("around", [b'{"format": 5, "x": [%s]}', b'["\\"[{", %s'])
def test_a_header_takes_no_more_memory_than_is_said(tmp_path, item, around, monkeypatch):
    monkeypatch.setattr(persistence, "_MAX_PARSED_BYTES", persistence._MAX_PARSED_BYTES // 4)
    text = around % b",".join([item] * (15_000_000 // (len(item) + 1)))
    np.savez_compressed(tmp_path / "m.npz", header=np.frombuffer(text, np.uint8))
    assert (tmp_path / "m.npz").stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(LatentiaError, match=r"m\.npz: not a model saved by latentia, or damaged"):
            latentia.load(tmp_path / "m.npz")
        assert tracemalloc.get_traced_memory()[1] < 6 * len(text) + persistence._MAX_PARSED_BYTES
    finally:
        tracemalloc.stop()


def test_what_parsing_takes_is_not_more_than_what_is_counted():
    """Each of the kinds of values, many of them."""
    for item in (
        b"{}",
        b"[]",
        b'{"%d":1}',
        b"[0]",
        b'"word%d"',
        b"%d.5",
        b'[["a%d", [0, {}]]]',
        b'{"a%d": {"b": [], "c": ""}}',
    ):
        text = b"[" + b",".join([item % i if b"%d" in item else item for i in range(30_000)]) + b"]"
        counted, depth = persistence._measure_json(text)
        tracemalloc.start()
        parsed = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(parsed) == 30_000
        assert taken <= counted + 4 * len(text)
        assert depth == 1 + max(item.count(b"{") + item.count(b"["), 0)


def test_brackets_in_names_are_no_brackets(model, tmp_path):
    names = ['"[{' * 30 + "\\", "[" * 3000, "{" * 3000, ",:" * 2000, "ß[" * 99]
    named = copy.copy(model)
    vars(named)["x_"] = names
    assert latentia.load(latentia.save(named, tmp_path / "m")).x_ == names


def test_what_cannot_be_read_is_not_saved(model, tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_MAX_PARSED_BYTES", 1 << 20)
    wide = copy.copy(model)
    vars(wide)["x_"] = [[]] * 10_000
    with pytest.raises(LatentiaError, match="AnchorTopics cannot be saved: its header would take .* MiB of memory"):
        latentia.save(wide, tmp_path / "m")
    assert not list(tmp_path.iterdir())


# --- sizes --------------------------------------------------------------------------------------------------------


def claims(path, name, content, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, content)


def head(shape, kind="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("shape", [(2**30,), (2**20, 2**20), (10**18, 10**18)])
@pytest.mark.parametrize("kind", ["<f8", "<U0", "|O", "<c16"])
def test_no_memory_is_taken_for_what_a_head_claims(tmp_path, shape, kind):
    claims(tmp_path / "m.npz", "header.npy", head(shape, kind) + bytes(100))
    tracemalloc.start()
    refused(tmp_path / "m.npz")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_a_member_that_unpacks_to_more_than_a_small_model_is_not_unpacked(tmp_path):
    path = tmp_path / "m.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("header.npy", "w", force_zip64=True) as file,
    ):
        file.write(head((1 << 29,), "|u1"))
        for _ in range(512):
            file.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    refused(path, "unpack to more than 268435456")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_sizes_in_the_directory_that_the_file_cannot_hold(saved):
    content = bytearray(saved.read_bytes())
    at = content.index(b"PK\x01\x02")
    struct.pack_into("<I", content, at + 24, 2**32 - 2)
    saved.write_bytes(content)
    refused(saved, "declares")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack(tmp_path, method):
    claims(tmp_path / "m.npz", "header.npy", b"x" * 1000, method)
    refused(tmp_path / "m.npz", "packed by another method than deflate")


def test_an_encrypted_member(saved):
    content = bytearray(saved.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    saved.write_bytes(content)
    refused(saved, "encrypted")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_without_a_writer_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "m.npz")
    refused(tmp_path / "m.npz", "not a regular file")


def test_a_folder(tmp_path):
    (tmp_path / "m.npz").mkdir()
    refused(tmp_path / "m.npz", "cannot be read|not a regular file")


# --- arrays -------------------------------------------------------------------------------------------------------


def changed(path, name, change):
    header, arrays = parts(path)
    arrays[name] = change(arrays[name])
    rewrite(path, header, arrays)


def with_entry(value):
    def change(array):
        array = array.copy()
        array.flat[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (with_entry(np.nan), "components_ has NaN"),
        (with_entry(np.inf), "components_ has NaN, infinity"),
        (with_entry(-0.5), "components_ has entries outside"),
        (with_entry(0.9), "components_ has rows that do not sum to one"),
        (lambda a: a[:, :-1], "components_ has the size 39, expected 40"),
        (lambda a: a[:-1], "has the size"),
        (lambda a: a[0], "components_ has the type float64 and the shape"),
        (lambda a: a.astype("U5"), "components_ has the type <U5"),
        (lambda a: a.astype(complex), "type complex128"),
    ],
)
def test_arrays_that_are_no_topics(saved, change, match):
    changed(saved, "components_", change)
    refused(saved, match)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("_words.codes", with_entry(10**6)),
        ("_words.codes", with_entry(-1)),
        ("anchors_", with_entry(40)),
        ("_embedding.sketch", lambda a: a[:-1]),
        ("dirichlet_", with_entry(np.nan)),
        ("dirichlet_", np.zeros_like),
        ("prevalence_", lambda a: a[:2]),
        ("evidence_.component_errors", lambda a: a[None]),
    ],
)
def test_arrays_that_do_not_fit_each_other(saved, name, change):
    changed(saved, name, change)
    refused(saved)


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("core_", np.negative, "core_ has entries outside"),
        ("_matrix.factored.core", np.negative, "not that of components_ and core_"),
        ("_matrix.factored.factor", lambda a: a[::-1], "not that of components_ and core_"),
    ],
)
def test_factors_of_pairs_that_are_no_probabilities(tmp_path, name, change, match):
    refined = next(world for world in worlds() if world.name == "ProbabilityMatrix" and world.estimator.refine)
    path = latentia.save(fit_of(refined), tmp_path / "model")
    changed(path, name, change)
    refused(path, match)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("SphericalGaussianMixture", "variance_"),
        ("MultiViewMixture", "_scales.0"),
        ("ContrastiveRegression", "_scale"),
        ("SpectralHMM", "_deviations"),
    ],
)
def test_no_scale_is_zero(tmp_path, family, name):
    world = next(world for world in worlds() if world.name == family)
    path = latentia.save(fit_of(world), tmp_path / "model")
    changed(path, name, with_entry(0.0))
    refused(path, "outside of 1e-100")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 0),
        ("tol", float("nan")),
        ("n_jobs", 0),
        ("embedding", "x"),
        ("n_components", {"range": [1, 10**18, 1]}),
        ("random_state", 2**33),
        ("vocabulary", {"list": ["a"]}),
        ("anchors", 5),
    ],
)
def test_parameters_that_a_fit_would_refuse(saved, name, value):
    header, arrays = parts(saved)
    header["parameters"][name] = value
    rewrite(saved, header, arrays)
    refused(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("components_"),
        lambda a: a.pop("evidence_"),
        lambda a: a.update(evidence_=5),
        lambda a: a.update(components_=5),
        lambda a: a.update(n_features_in_=41),
        lambda a: a.pop("n_features_in_"),
        lambda a: a["_anchors"]["list"].pop(),
        lambda a: a.update(_column_names={"list": ["a"]}),
        lambda a: a["_anchors"]["list"][0]["state"].update(words={"tuple": [77]}),
        lambda a: a["evidence_"]["state"]["checks"]["list"][0]["state"].update(name=5),
        lambda a: a.update(components_={"csr": "components_", "shape": [3, 40]}),
    ],
)
def test_attributes_that_are_missing_or_something_else(saved, change):
    header, arrays = parts(saved)
    change(header["attributes"])
    rewrite(saved, header, arrays)
    refused(saved)


def test_an_attribute_cannot_take_the_place_of_a_method(saved):
    header, arrays = parts(saved)
    header["attributes"]["transform"] = 5
    rewrite(saved, header, arrays)
    assert callable(latentia.load(saved).transform)


@pytest.mark.parametrize(
    "parts_of",
    [
        ([1.0, 2.0], [0, 5], [0, 1, 2]),
        ([1.0, 2.0], [0, -1], [0, 1, 2]),
        ([1.0], [0, 1], [0, 1, 2]),
        ([1.0, 2.0], [0, 1], [0, 2]),
        ([1.0, 2.0], [0, 1], [0, 3, 2]),
        ([1.0, 2.0], [0, 1], [1, 1, 2]),
        ([1.0, 2.0], [0.0, 1.0], [0, 1, 2]),
    ],
)
def test_parts_of_sparse_matrices_must_agree(parts_of):
    data, indices, indptr = map(np.array, parts_of)
    with pytest.raises(LatentiaError, match="parts of a sparse matrix"):
        persistence._decode({"csr": "x", "shape": [2, 3]}, {"x.data": data, "x.indices": indices, "x.indptr": indptr})


# --- writing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt(), MemoryError()])
def test_a_save_that_fails_leaves_nothing(model, tmp_path, monkeypatch, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(np, "savez_compressed", fails)
    with pytest.raises(LatentiaError if isinstance(error, OSError) else type(error)):
        latentia.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(_scratch.fcntl is None, reason="needs locks")
def test_what_a_killed_save_left_is_removed_by_the_next(model, tmp_path):
    code = """
import sys, time
import numpy as np
import latentia
def slow(*_, **__):
    print("writing", flush=True)
    time.sleep(60)
model = latentia.load(sys.argv[1])
np.savez_compressed = slow
latentia.save(model, sys.argv[1])
"""
    target = latentia.save(model, tmp_path / "model")
    before = target.read_bytes()
    process = subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    assert len(list(tmp_path.iterdir())) == 2
    latentia.save(model, tmp_path / "other")
    process.kill()
    process.wait()
    assert target.read_bytes() == before
    latentia.save(model, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz", "other.npz"]


def test_what_is_no_estimator_cannot_be_saved(tmp_path):
    with pytest.raises(LatentiaError, match="A dict cannot be saved"):
        latentia.save({}, tmp_path / "model")
    with pytest.raises(LatentiaError, match="which cannot be saved"):
        latentia.save(SphericalGaussianMixture(random_state=np.random.default_rng(0)), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(model, tmp_path):
    with pytest.raises(LatentiaError, match="cannot be written"):
        latentia.save(model, tmp_path / "absent" / "model")


def test_names_that_end_with_a_nul_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    names = ["a\0", "b", "\0", "c\0\0"]
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = SphericalGaussianMixture(1, n_splits=0).fit(pd.DataFrame(X, columns=pd.Index(names, dtype=object)))
    assert list(latentia.load(latentia.save(model, tmp_path / "x")).feature_names_in_) == names
