"""Checkpoints: what a killed fit had read is not read again, and it ends with the same bits.

A fit is passes over the data and computations between them that depend on nothing but the passes' sums, the parameters and
the seed. Its passes are therefore numbered, and their sums written to a folder; a fit that is started again goes the same
way, takes the sums that it finds, goes on in the middle of the pass that was under way, and reads what is left. What lies
between passes is computed again. Sums are only taken for statistics with the same content, so that those of one machine and
those of a cluster, which differ by rounding, can follow each other.

Files are written beside their place and renamed when they are whole and on the disk. Writing takes at most `_SHARE` of the
time: sums that are dear to write and cheap to make again are not written. The folder says which data, parameters and
versions it belongs to, and is refused for others. All its files have a name and a first line of their own, and no other file
is touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numba
import numpy as np
import scipy

from .._archive import DAMAGE
from ..exceptions import LatentiaError
from ..system.scratch import NO_LINKS, replacing, sweep
from ._digests import digest
from ._packing import packed, unpacked

try:
    import fcntl
except ImportError:  # not on this system: nobody is kept from using a folder twice
    fcntl = None  # type: ignore[assignment]

_SHARE = 0.03  # of the time that has passed, which writing may take
_RATE, _FIXED = 5e8, 5e-3  # bytes a second, and seconds a file, before the first has been written
_FIRST_LINE = b"latentia checkpoint 2\n"
_LOCK = "latentia-checkpoint.lock"
_OWN = re.compile(r"fit-\d{3,}(-pass-\d{6,})?")
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
    passes are repeated.
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

    @property
    def key(self) -> str:
        """Digest of all of it."""
        return digest([self.task, self.parameters, self.data])

    @classmethod
    def of_fit(cls, task: str, parameters: Mapping[str, Any], data: Any) -> Identity:
        kept = {name: digest(value) for name, value in parameters.items() if name not in _NOT_COMPARED}
        return cls(task, kept, digest(data))

    def check(self, header: Mapping[str, Any], folder: Path) -> None:
        """Raise unless the header of a folder is of this task, these parameters, these data and these versions."""
        other = "Give another folder, or remove this one to start anew."
        if header["task"] != self.task:
            raise LatentiaError(
                f"the checkpoint is of {header['task']}, and this is {self.task}. {other}", source=folder
            )
        changed = sorted(
            name
            for name in header["parameters"].keys() | self.parameters.keys()
            if header["parameters"].get(name) != self.parameters.get(name)
        )
        if changed:
            names = ", ".join(changed)
            raise LatentiaError(f"the checkpoint is of a fit with other parameters ({names}). {other}", source=folder)
        if header["data"] != self.data:
            raise LatentiaError(f"the checkpoint is of other data. {other}", source=folder)
        if header["versions"] != _versions():
            raise LatentiaError(
                f"the checkpoint was written by {_listed(header['versions'])}, and this is {_listed(_versions())}, "
                f"which may round differently. {other}",
                source=folder,
            )


def _versions() -> dict[str, str]:
    from .. import __version__

    return {
        "latentia": __version__, "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__,
        "numba": numba.__version__, "machine": platform.machine(),
    }  # fmt: skip


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


# --- a folder ---------------------------------------------------------------------------------------------------


class _Folder:
    """The passes of some fits in their order: a file for each, and one for each fit that says what it is."""

    def __init__(self, path: str | os.PathLike[str], strict: bool = False) -> None:
        self.path, self._strict = Path(path), strict  # whether sums that cannot be kept are an error
        self._opened, self._spent, self._rate = time.monotonic(), 0.0, _RATE
        self._n_fits, self._n_passes, self._key = 0, 0, ""
        self._process, self._thread = os.getpid(), 0  # the thread of the fit under way
        self._error: LatentiaError | None = None
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folder, and hold it."""
        with self._writing():
            if self.path.exists() and not self.path.is_dir():
                raise LatentiaError("is not a folder. Choose another for the checkpoint.", source=self.path)
            self.path.mkdir(parents=True, exist_ok=True)
            if not (self.path / _LOCK).exists():
                self._refuse_others()
            self._lock = self._locked()
            sweep(self.path)
            self._refuse_others()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def clear(self) -> None:
        """Remove all that a fit left here, and the folder if it is empty then."""
        with contextlib.suppress(OSError):
            for entry in sorted(self.path.iterdir(), key=lambda entry: entry.name == _LOCK):
                if _is_own(entry):
                    entry.unlink()
            self.path.rmdir()

    def _locked(self) -> int:
        """The lock of the folder, held by this process."""
        try:
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(lock, _FIRST_LINE)
        except FileExistsError:
            lock = os.open(self.path / _LOCK, os.O_RDWR | NO_LINKS)
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                raise LatentiaError("another process uses this checkpoint.", source=self.path) from None
            except OSError:  # a file system without locks
                pass
        return lock

    def _refuse_others(self) -> None:
        """Raise where there is something that no fit wrote here."""
        others = sorted(entry.name for entry in self.path.iterdir() if not _is_own(entry))
        if others:
            self.close()
            raise LatentiaError(
                f"holds {others[0]}, which is no part of a checkpoint. Choose an empty folder.", source=self.path
            )

    @property
    def begun(self) -> bool:
        """Whether a fit is under way, or this is another process, which has a copy of the one that holds the folder."""
        return bool(self._thread) or os.getpid() != self._process

    def begin(self, identity: Identity, seed: int) -> int:
        """Begin the next fit, or take it up if it is here, and return its seed."""
        self._n_fits, self._n_passes, self._key = self._n_fits + 1, 0, identity.key
        header = self._header()
        if header is not None:
            identity.check(header, self.path)
        else:
            header = {
                "task": identity.task, "parameters": identity.parameters, "data": identity.data, "versions": _versions(),
                "seed": int(seed),
            }  # fmt: skip
            self._write(self._fit, [json.dumps(header).encode()])
        self._thread = threading.get_ident()
        return int(header["seed"])

    def leave(self) -> None:
        """The fit has ended, or failed."""
        self._thread = 0

    def check_written(self) -> None:
        """Raise what went wrong with the files of a fit, if a part of it took that for a fit that failed."""
        if self._error is not None:
            raise self._error

    @property
    def _fit(self) -> str:
        return f"fit-{self._n_fits:03d}"

    def _header(self) -> dict[str, Any] | None:
        if not (self.path / self._fit).exists():
            return None
        pieces = self.read(self._fit)
        header = None
        if pieces is not None:
            with contextlib.suppress(ValueError, RecursionError):
                header = json.loads(pieces[0])
        if not isinstance(header, dict) or not {"task", "parameters", "data", "versions", "seed"} <= header.keys():
            raise LatentiaError(
                "the checkpoint is damaged, or cannot be read. Remove it to start anew, or allow reading there.",
                source=self.path,
            )
        return header

    def next_pass(self, statistics: Sequence[Any], blocks: Any) -> _PassFile | None:
        """The file of the next pass of the fit; None outside it, and in threads whose order is not fixed."""
        if threading.get_ident() != self._thread or os.getpid() != self._process:
            return None
        self._n_passes += 1
        if any(getattr(statistic, "keeps_rows", False) for statistic in statistics):
            return None
        began = time.monotonic()
        try:
            key = digest([self._key, list(statistics), blocks.maps, len(blocks), blocks.n_rows])
        except LatentiaError:  # made again
            if self._strict:
                raise
            return None
        self._spent += time.monotonic() - began
        return _PassFile(self, f"{self._fit}-pass-{self._n_passes:06d}", key)

    def read(self, name: str) -> list[bytearray] | None:
        """The pieces of a file; None where there is none that is whole."""
        try:
            with (self.path / name).open("rb") as file:
                if file.readline(len(_FIRST_LINE)) != _FIRST_LINE:
                    return None
                head = json.loads(file.readline())
                if sum(head["sizes"]) > os.fstat(file.fileno()).st_size:
                    return None
                pieces = [bytearray(size) for size in head["sizes"]]
                found = 0
                for piece in pieces:
                    if file.readinto(piece) != len(piece):
                        return None
                    found = zlib.crc32(piece, found)
                return pieces if found == head["checksum"] else None
        except (OSError, ValueError, LookupError, TypeError, MemoryError, RecursionError):
            return None

    def may_write(self, size: int) -> bool:
        """Whether so many bytes can be written in the share of the time that writing has."""
        return self._spent + _FIXED + size / self._rate <= _SHARE * (time.monotonic() - self._opened)

    def keep(self, name: str, content: Any) -> int:
        """Write a file if there is time for it; its size in bytes."""
        began = time.monotonic()
        try:
            pieces = packed(content)
        except LatentiaError:
            if self._strict:
                raise
            return 0
        size = sum(memoryview(piece).nbytes for piece in pieces)
        if self.may_write(size):
            self._write(name, pieces)
            if size > 1 << 20:
                self._rate = size / max(time.monotonic() - began, 1e-6)
        self._spent += time.monotonic() - began
        return size

    def _write(self, name: str, pieces: Sequence[Any]) -> None:
        """A file that is whole or not there, on the disk."""
        checksum = 0
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
        head = json.dumps({"sizes": [memoryview(piece).nbytes for piece in pieces], "checksum": checksum}).encode()
        with self._writing(), replacing(self.path / name) as file:
            for piece in [_FIRST_LINE, head, b"\n", *pieces]:
                file.write(piece)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = LatentiaError(
                f"the checkpoint cannot be written ({error.strerror or error}). What it held before is whole: "
                "make room, or allow writing there, and start the same fit again to go on from it.",
                source=self.path,
            )
            raise self._error from error


def _is_own(path: Path) -> bool:
    """Whether a file has one of the names of a checkpoint, and its first line."""
    if not (path.name == _LOCK or _OWN.fullmatch(path.name)) or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(len(_FIRST_LINE))
    # A lock may have been made without its line: the disk was full, or the process was killed.
    return start == _FIRST_LINE or (path.name == _LOCK and _FIRST_LINE.startswith(start))


class _PassFile:
    """A `Checkpoint` of one pass: where it is, and after the last block its sums. ``key`` says which pass it is."""

    def __init__(self, folder: _Folder, name: str, key: str) -> None:
        self._folder, self._name, self._key = folder, name, key
        self._size = 0  # of the last state, in bytes

    def load(self) -> PassState | None:
        pieces = self._folder.read(self._name)
        if pieces is None:
            return None
        try:
            key, next_block, sums = unpacked(pieces)
        except DAMAGE:  # written by something else: the pass is made again
            return None
        return PassState(next_block, sums) if key == self._key else None

    def save(self, state: PassState) -> None:
        if self._folder.may_write(self._size):
            self._size = self._folder.keep(self._name, (self._key, state.next_block, state.sums))


# --- use --------------------------------------------------------------------------------------------------------

_current: ContextVar[_Folder | None] = ContextVar("latentia_checkpoint", default=None)


@contextlib.contextmanager
def checkpointing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep the passes of fits in a folder, and take up those that a killed process left there.

    The model has the same bits as that of a fit which was never stopped. The folder is emptied when the block finishes without
    an error; leave it where it is after a crash, and run the same lines again. Writing takes some percent of the time at most,
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
    try:
        yield folder.begin(identity(), seed)
    finally:
        folder.leave()
    folder.check_written()


def kept_pass(statistics: Sequence[Any], blocks: Any) -> Checkpoint | None:
    """Where the next pass of a fit inside `checkpointing` is kept; None elsewhere."""
    folder = _current.get()
    return None if folder is None else folder.next_pass(statistics, blocks)


@contextlib.contextmanager
def single_pass(folder: str | os.PathLike[str], statistics: Sequence[Any], blocks: Any) -> Iterator[Checkpoint | None]:
    """Where one pass that is no part of a fit is kept; emptied at its end."""
    kept = _Folder(folder, strict=True)
    kept.open()
    try:
        kept.begin(Identity("accumulate", {"statistics": digest(list(statistics))}, digest(blocks)), 0)
        yield kept.next_pass(statistics, blocks)
        kept.clear()
    finally:
        kept.close()
