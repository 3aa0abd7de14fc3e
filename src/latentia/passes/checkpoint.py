"""Checkpoints: what a killed fit had read is not read again, and it ends with the same bits.

A fit is passes over the data and computations between them that depend on nothing but the passes' sums, the parameters and
the seed. Its passes are therefore numbered, and their sums written to a folder; a fit that is started again goes the same
way, takes the sums that it finds, goes on in the middle of the pass that was under way, and reads what is left. What lies
between passes is computed again.

Files are written beside their place and renamed when they are whole and on the disk. Writing takes at most `_SHARE` of the
time: sums that are dear to write and cheap to make again are not written. The folder says which data, parameters and
versions it belongs to, and is refused for others.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import pickle
import platform
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import joblib
import numba
import numpy as np
import scipy
from scipy import sparse

from ..exceptions import LatentiaError

try:
    import fcntl
except ImportError:  # not on this system: nobody is kept from using a folder twice
    fcntl = None  # type: ignore[assignment]

__all__ = ["Checkpoint", "PassState", "checkpointing", "digest", "fit_kept", "kept_pass", "single_pass"]

_SHARE = 0.03  # of the time that has passed, which writing may take
_RATE, _FIXED = 5e8, 5e-3  # bytes a second, and seconds a file, before the first has been written
_FORMAT = 1
_LOCK = "lock"
_MAGIC = b"latentia pass 1\n"
_NOT_COMPARED = frozenset({"n_jobs", "verbose"})  # parameters on which the answer does not depend

Sums: TypeAlias = list[Any]


@dataclass
class PassState:
    """A pass in progress.

    Attributes
    ----------
    next_block : int
        Number of the first block that has not been folded in.
    sums : list
        One entry a statistic: the stack of (level, partial sum) of a small one, the sum itself of a large one.
    """

    next_block: int = 0
    sums: Sums = field(default_factory=list)


class Checkpoint(Protocol):
    """Where `accumulate` keeps the state of a pass. A pass that is resumed gives the same bits as one that is not.

    Statistics that keep something of every row besides their sums say so with an attribute ``keeps_rows`` that is true: their
    passes are made again.
    """

    def load(self) -> PassState | None:
        """The state to resume from, or None to start anew."""

    def save(self, state: PassState) -> None:
        """Called after every window of blocks. The state is only valid during the call: write it or copy it."""


# --- what a folder belongs to -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity:
    """What a checkpoint belongs to.

    Attributes
    ----------
    task : str
        Such as "AnchorTopics.fit".
    parameters : dict of str
        Digests of the parameters on which the answer depends.
    data : str
        Digest.
    """

    task: str
    parameters: dict[str, str]
    data: str

    @classmethod
    def of_fit(cls, task: str, parameters: Mapping[str, Any], data: Any) -> Identity:
        kept = {name: digest(value) for name, value in parameters.items() if name not in _NOT_COMPARED}
        return cls(task, kept, digest(data))

    def check(self, header: Mapping[str, Any], folder: Path) -> None:
        """Raise unless the header of a folder is of this task, these parameters, these data and these versions."""
        other = "Give another folder, or remove this one to start anew."
        if header["task"] != self.task:
            raise LatentiaError(f"{folder}: the checkpoint is of {header['task']}, and this is {self.task}. {other}")
        changed = sorted(
            name
            for name in header["parameters"].keys() | self.parameters.keys()
            if header["parameters"].get(name) != self.parameters.get(name)
        )
        if changed:
            names = ", ".join(changed)
            raise LatentiaError(f"{folder}: the checkpoint is of a fit with other parameters ({names}). {other}")
        if header["data"] != self.data:
            raise LatentiaError(f"{folder}: the checkpoint is of other data. {other}")
        if header["versions"] != _versions():
            raise LatentiaError(
                f"{folder}: the checkpoint was written by {_listed(header['versions'])}, and this is {_listed(_versions())}, "
                f"which may round differently. {other}"
            )


def _versions() -> dict[str, str]:
    from .. import __version__

    return {
        "latentia": __version__, "numpy": np.__version__, "scipy": scipy.__version__, "numba": numba.__version__,
        "machine": platform.machine(),
    }  # fmt: skip


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def digest(value: Any) -> str:
    """Digest of data or parameters: tables, data frames, texts, blocks, and tuples, lists and dicts of them."""
    return str(joblib.hash(_told(value)))


def _told(value: Any) -> Any:
    """What is hashed: blocks and mapped files by their own digests, functions by their code."""
    if hasattr(value, "fingerprint"):
        return ("blocks", value.fingerprint())
    if sparse.issparse(value):
        table = value.tocsr()
        return ("table", table.shape, *(_told(part) for part in (table.indptr, table.indices, table.data)))
    if isinstance(value, np.ndarray):
        mapped = _file_of(value)
        return value if mapped is None else mapped
    if isinstance(value, Mapping):
        return {str(name): _told(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)) and not all(isinstance(part, (str, int, float)) for part in value):
        return [_told(part) for part in value]
    if inspect.isfunction(value) or inspect.ismethod(value):
        return function_told(value)
    return value


def function_told(function: Any) -> Any:
    """A function by its name, its code and what it closes over, as far as that can be hashed."""
    code = getattr(function, "__code__", None)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    held = []
    for content in cells:
        try:
            held.append(joblib.hash(_told(content)))
        except Exception:  # locks, generators: what they are says nothing about the data
            held.append(type(content).__qualname__)
    return (getattr(function, "__qualname__", type(function).__qualname__), code and code.co_code, held)


def _file_of(array: np.ndarray) -> tuple[Any, ...] | None:
    """The place in a binary cache that an array is mapped from, by the checksums of the cache; None for all others."""
    from .cache import read_header

    base: Any = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    if not isinstance(base, np.memmap) or base.filename is None:
        return None
    file = Path(base.filename)
    header = read_header(file.parent)
    number, _, name = file.stem.partition("-")
    if header is None or not number.isdigit():
        return None
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    checksum = header["tables"][int(number)].get("checksums", {}).get(name)
    return ("mapped", checksum, str(array.dtype), array.shape, array.strides, offset)


# --- a folder ---------------------------------------------------------------------------------------------------


class _Folder:
    """The passes of some fits in their order: a file for each, and one for each fit that says what it is."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._opened, self._spent, self._rate = time.monotonic(), 0.0, _RATE
        self._n_fits, self._n_passes = 0, 0
        self._thread: int | None = None  # of the fit under way
        self._error: LatentiaError | None = None
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folder, and hold it."""
        with self._writing():
            if self.path.exists() and not self.path.is_dir():
                raise LatentiaError(f"{self.path}: is not a folder. Choose another for the checkpoint.")
            self.path.mkdir(parents=True, exist_ok=True)
            foreign = [entry.name for entry in self.path.iterdir() if not _is_own(entry.name)]
            if foreign:
                raise LatentiaError(
                    f"{self.path}: holds {sorted(foreign)[0]}, which is no part of a checkpoint. Choose an empty folder."
                )
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._lock)
                self._lock = None
                raise LatentiaError(f"{self.path}: another process uses this checkpoint.") from None
            except OSError:  # a file system without locks
                pass

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def clear(self) -> None:
        """Remove all that a fit left here, and the folder if it is empty then."""
        with contextlib.suppress(OSError):
            for entry in list(self.path.iterdir()):
                if _is_own(entry.name):
                    entry.unlink()
            self.path.rmdir()

    @property
    def begun(self) -> bool:
        return self._thread is not None

    def begin(self, identity: Identity, seed: int) -> int:
        """Begin the next fit, or take it up if it is here, and return its seed."""
        self._n_fits, self._n_passes = self._n_fits + 1, 0
        header = self._header()
        if header is not None:
            identity.check(header, self.path)
        else:
            header = {
                "format": _FORMAT, "task": identity.task, "parameters": identity.parameters, "data": identity.data,
                "versions": _versions(), "seed": int(seed),
            }  # fmt: skip
            self._write(f"{self._fit}.json", [json.dumps(header).encode()])
        self._thread = threading.get_ident()
        return int(header["seed"])

    def end(self) -> None:
        """The fit has ended: raise what went wrong with its files, if a part of it took that for a fit that failed."""
        self._thread = None
        if self._error is not None:
            raise self._error

    @property
    def _fit(self) -> str:
        return f"fit-{self._n_fits:03d}"

    def _header(self) -> dict[str, Any] | None:
        try:
            text = (self.path / f"{self._fit}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LatentiaError(f"{self.path}: the checkpoint cannot be read ({error.strerror or error}).") from error
        with contextlib.suppress(ValueError):
            header = json.loads(text)
            if isinstance(header, dict) and header.get("format") == _FORMAT:
                return header
        raise LatentiaError(f"{self.path}: no checkpoint that this version reads. Remove it to start anew.")

    def next_pass(self, what: Sequence[str], n_blocks: int, n_rows: int) -> _PassFile | None:
        """The file of the next pass of the fit; None outside it, and in threads whose order is not fixed."""
        if threading.get_ident() != self._thread:
            return None
        self._n_passes += 1
        return _PassFile(self, f"{self._fit}-pass-{self._n_passes:06d}", (tuple(what), n_blocks, n_rows))

    def read(self, name: str) -> list[bytearray] | None:
        """The pieces of a file; None where there is none that is whole."""
        try:
            with (self.path / name).open("rb") as file:
                if file.readline() != _MAGIC:
                    return None
                sizes = json.loads(file.readline())
                pieces = [bytearray(size) for size in sizes["sizes"]]
                found = 0
                for piece in pieces:
                    if file.readinto(piece) != len(piece):
                        return None
                    found = zlib.crc32(piece, found)
                return pieces if found == sizes["checksum"] else None
        except (OSError, ValueError, KeyError, TypeError, MemoryError):
            return None

    def may_write(self, size: int) -> bool:
        """Whether so many bytes can be written in the share of the time that writing has."""
        return self._spent + _FIXED + size / self._rate <= _SHARE * (time.monotonic() - self._opened)

    def keep(self, name: str, content: Any) -> int:
        """Write a file if there is time for it; its size in bytes."""
        began = time.monotonic()
        buffers: list[pickle.PickleBuffer] = []
        first = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
        pieces: list[Any] = [first, *(buffer.raw() for buffer in buffers)]
        size = sum(memoryview(piece).nbytes for piece in pieces)
        if self.may_write(size):
            self._keep(name, pieces)
            if size > 1 << 20:
                self._rate = size / max(time.monotonic() - began, 1e-6)
        self._spent += time.monotonic() - began
        return size

    def _keep(self, name: str, pieces: Sequence[Any]) -> None:
        checksum = 0
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
        head = json.dumps({"sizes": [memoryview(piece).nbytes for piece in pieces], "checksum": checksum}).encode()
        self._write(name, [_MAGIC, head, b"\n", *pieces])

    def _write(self, name: str, pieces: Sequence[Any]) -> None:
        """A file that is whole or not there, on the disk."""
        partial = self.path / f"{name}.partial"
        with self._writing():
            try:
                with partial.open("wb") as file:
                    for piece in pieces:
                        file.write(piece)
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(self.path / name)
            except OSError:
                with contextlib.suppress(OSError):
                    partial.unlink()
                raise

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = LatentiaError(
                f"{self.path}: the checkpoint cannot be written ({error.strerror or error}). What it held before is whole: "
                "make room, or allow writing there, and start the same fit again to go on from it."
            )
            raise self._error from error


def _is_own(name: str) -> bool:
    return name == _LOCK or name.startswith("fit-")


class _PassFile:
    """A `Checkpoint` of one pass: where it is, and after the last block the sums themselves."""

    def __init__(self, folder: _Folder, name: str, what: tuple[Any, ...]) -> None:
        self._folder, self._name, self._what = folder, name, what
        self._size = 0  # of the last state, in bytes

    def load(self) -> PassState | None:
        pieces = self._folder.read(self._name)
        if pieces is None:
            return None
        try:
            what, next_block, sums = _Careful(io.BytesIO(pieces[0]), buffers=pieces[1:]).load()
        except Exception:  # written by something else: the pass is made again
            return None
        return PassState(next_block, sums) if what == self._what else None

    def save(self, state: PassState) -> None:
        if self._folder.may_write(self._size):
            self._size = self._folder.keep(self._name, (self._what, state.next_block, state.sums))


class _Careful(pickle.Unpickler):
    """Reads numbers, arrays, sparse tables and the records of this library, and runs no other code."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if self._may(module, name) else None
        if found is None or (module.partition(".")[0] == "latentia" and not isinstance(found, type)):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a pass.")
        return found

    @staticmethod
    def _may(module: str, name: str) -> bool:
        top = module.partition(".")[0]
        if top == "numpy":
            return name in {"_reconstruct", "_frombuffer", "scalar", "ndarray", "dtype"}
        if top == "scipy":
            return module.startswith("scipy.sparse") and name.partition("_")[0] in {"csr", "csc", "coo"}
        if top == "builtins":
            return name in {"set", "frozenset", "slice", "complex", "range", "bytearray"}
        return top == "latentia" or (module, name) in {("collections", "OrderedDict"), ("collections", "deque")}


# --- use --------------------------------------------------------------------------------------------------------

_current: ContextVar[_Folder | None] = ContextVar("latentia_checkpoint", default=None)


@contextlib.contextmanager
def checkpointing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep the passes of fits in a folder, and take up those that a killed process left there.

    The model has the same bits as that of a fit which was never stopped. The folder is emptied when the block ends without an
    error; leave it where it is after a crash, and run the same lines again. Writing takes some percent of the time at most,
    and what is computed between passes is computed again.

    Parameters
    ----------
    folder : path
        Made if it is not there; otherwise it is empty, or of the same fits in the same order.

    Raises
    ------
    LatentiaError
        If the folder belongs to other data, parameters or versions, is in use, or cannot be written.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.passes import checkpointing
    >>> from latentia.topics import AnchorTopics
    >>> corpus = planted.topic_corpus(500, n_topics=3, n_words=100)
    >>> with checkpointing("fit-of-monday"):
    ...     model = AnchorTopics(3).fit(corpus.counts)
    """
    kept = _Folder(folder)
    kept.open()
    token = _current.set(kept)
    try:
        yield
        kept.clear()
    finally:
        _current.reset(token)
        kept.close()


@contextlib.contextmanager
def fit_kept(identity: Callable[[], Identity], seed: int) -> Iterator[int]:
    """Around a fit: inside `checkpointing` its passes are kept from here on. Gives the seed that it began with."""
    folder = _current.get()
    if folder is None or folder.begun:
        yield seed
        return
    yield folder.begin(identity(), seed)
    folder.end()


def kept_pass(statistics: Sequence[Any], blocks: Any) -> Checkpoint | None:
    """Where the next pass of a fit inside `checkpointing` is kept; None elsewhere."""
    folder = _current.get()
    if folder is None:
        return None
    file = folder.next_pass([type(s).__qualname__ for s in statistics], len(blocks), blocks.n_rows)
    return None if any(getattr(s, "keeps_rows", False) for s in statistics) else file


@contextlib.contextmanager
def single_pass(folder: str | os.PathLike[str], statistics: Sequence[Any], blocks: Any) -> Iterator[Checkpoint]:
    """Where one pass that is no part of a fit is kept; emptied at its end."""
    kept = _Folder(folder)
    kept.open()
    try:
        what = [(type(s).__qualname__, _told(getattr(s, "__dict__", None))) for s in statistics]
        kept.begin(Identity("accumulate", {"statistics": digest(what)}, digest(blocks)), 0)
        file = kept.next_pass([type(s).__qualname__ for s in statistics], len(blocks), blocks.n_rows)
        assert file is not None
        yield file
        kept.clear()
    finally:
        kept.close()
