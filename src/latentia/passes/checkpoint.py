"""Checkpoints: a killed fit continues where it stopped, and ends with the same bits.

A fit is a series of passes over the data, and computations between them that depend only on the passes' sums, the parameters
and the seed. So its passes are numbered, and their sums written to a folder. A fit that is started again takes the same
steps: it loads the stored sums, continues in the middle of the interrupted pass, and reads the remaining rows. Computations
between passes are repeated. Stored sums are used only for statistics with the same content; sums of one machine and of a
cluster, which differ by rounding, may be mixed.

Files are written beside their place and renamed once complete and on the disk. Writing takes at most `_WRITE_SHARE` of the
time: sums that are slow to write and fast to compute are not written. The folder records its data, parameters and versions, and
is refused for others. All its files have names and a first line of their own; no other file is touched.
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
from ._packing import pack, unpack

try:
    import fcntl
except ImportError:  # not on this system: two processes can then use one folder
    fcntl = None  # type: ignore[assignment]

_WRITE_SHARE = 0.03  # share of the elapsed time that writing may take
_INITIAL_RATE, _FILE_SECONDS = 5e8, 5e-3  # bytes a second, and seconds a file: guesses before the first file is written
_FIRST_LINE = b"latentia checkpoint 2\n"
_LOCK = "latentia-checkpoint.lock"
_FIT_FILE = re.compile(r"fit-\d{3,}(-pass-\d{6,})?")
_NOT_COMPARED = frozenset({"n_jobs", "verbose"})  # parameters that do not change the answer

Sums: TypeAlias = list[Any]


@dataclass
class PassState:
    """A pass in progress.

    Attributes
    ----------
    next_block : int
        Number of the first block that has not been folded in.
    sums : list
        For each statistic: the stack of (level, partial sum) of a small one, the sum itself of a large one.
    """

    next_block: int = 0
    sums: Sums = field(default_factory=list)


class Checkpoint(Protocol):
    """Storage for the state of a pass of `accumulate`. A resumed pass gives the same bits as an uninterrupted one.

    Statistics that keep data about every row besides their sums have a true attribute ``keeps_rows``; their passes are
    repeated.
    """

    def load(self) -> PassState | None:
        """Return the state to resume from, or None to start from the first block."""

    def save(self, state: PassState) -> None:
        """Store the state; called after every window of blocks. It is valid during the call only: write it or copy it."""


# --- identity of a checkpoint -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity:
    """Identity of a fit: its task, parameters and data.

    Attributes
    ----------
    task : str
        Such as "AnchorTopics.fit".
    parameters : dict of str
        Digests of the parameters that change the answer.
    data : str
        Digest.
    """

    task: str
    parameters: dict[str, str]
    data: str

    @property
    def key(self) -> str:
        """Digest of the identity."""
        return digest([self.task, self.parameters, self.data])

    @classmethod
    def from_fit(cls, task: str, parameters: Mapping[str, Any], data: Any) -> Identity:
        digests = {name: digest(value) for name, value in parameters.items() if name not in _NOT_COMPARED}
        return cls(task, digests, digest(data))

    def check(self, header: Mapping[str, Any], folder: Path) -> None:
        """Raise unless a folder's header matches this task, these parameters, these data and these versions."""
        advice = "Choose another folder, or remove this one to start again."
        if header["task"] != self.task:
            raise LatentiaError(
                f"the checkpoint is of {header['task']}, and this is {self.task}. {advice}", source=folder
            )
        changed = sorted(
            name
            for name in header["parameters"].keys() | self.parameters.keys()
            if header["parameters"].get(name) != self.parameters.get(name)
        )
        if changed:
            names = ", ".join(changed)
            raise LatentiaError(f"the checkpoint is of a fit with other parameters ({names}). {advice}", source=folder)
        if header["data"] != self.data:
            raise LatentiaError(f"the checkpoint is of other data. {advice}", source=folder)
        if header["versions"] != _collect_versions():
            stored, current = _format_versions(header["versions"]), _format_versions(_collect_versions())
            raise LatentiaError(
                f"the checkpoint was written by {stored}, and this is {current}, which may round differently. {advice}",
                source=folder,
            )


def _collect_versions() -> dict[str, str]:
    from .. import __version__

    return {
        "latentia": __version__, "python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__,
        "numba": numba.__version__, "machine": platform.machine(),
    }  # fmt: skip


def _format_versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


# --- folder -----------------------------------------------------------------------------------------------------


class _Folder:
    """Folder with a file for each fit, which identifies it, and a file for each of its passes."""

    def __init__(self, path: str | os.PathLike[str], strict: bool = False) -> None:
        self.path, self._strict = Path(path), strict  # strict: sums that cannot be stored are an error
        self._opened, self._spent, self._rate = time.monotonic(), 0.0, _INITIAL_RATE
        self._fit_number, self._pass_number, self._key = 0, 0, ""
        self._process, self._thread = os.getpid(), 0  # the thread of the fit under way
        self._error: LatentiaError | None = None
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folder, and lock it."""
        with self._explain_write_errors():
            if self.path.exists() and not self.path.is_dir():
                raise LatentiaError(
                    "expected a folder for the checkpoint, found a file. Choose another path.", source=self.path
                )
            self.path.mkdir(parents=True, exist_ok=True)
            if not (self.path / _LOCK).exists():
                self._check_content()
            self._lock = self._acquire_lock()
            sweep(self.path)
            self._check_content()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def clear(self) -> None:
        """Remove all files of fits, and the folder if it is empty then."""
        with contextlib.suppress(OSError):
            for entry in sorted(self.path.iterdir(), key=lambda entry: entry.name == _LOCK):
                if _is_checkpoint_file(entry):
                    entry.unlink()
            self.path.rmdir()

    def _acquire_lock(self) -> int:
        """Take the lock of the folder, and return it."""
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

    def _check_content(self) -> None:
        """Raise if the folder holds files that no fit wrote."""
        foreign_names = sorted(entry.name for entry in self.path.iterdir() if not _is_checkpoint_file(entry))
        if foreign_names:
            self.close()
            raise LatentiaError(
                f"holds {foreign_names[0]}, which is no part of a checkpoint. Choose an empty folder.", source=self.path
            )

    @property
    def is_busy(self) -> bool:
        """True while a fit runs, and in a forked copy of the process that holds the folder."""
        return bool(self._thread) or os.getpid() != self._process

    def start_fit(self, identity: Identity, seed: int) -> int:
        """Start the next fit, or resume it if it is stored, and return its seed."""
        self._fit_number, self._pass_number, self._key = self._fit_number + 1, 0, identity.key
        header = self._read_header()
        if header is not None:
            identity.check(header, self.path)
        else:
            header = {
                "task": identity.task, "parameters": identity.parameters, "data": identity.data,
                "versions": _collect_versions(), "seed": int(seed),
            }  # fmt: skip
            self._write(self._fit_name, [json.dumps(header).encode()])
        self._thread = threading.get_ident()
        return int(header["seed"])

    def end_fit(self) -> None:
        """Note that the fit has ended, or failed."""
        self._thread = 0

    def check_written(self) -> None:
        """Raise the error of an earlier write, which the fit may have caught as a failed part."""
        if self._error is not None:
            raise self._error

    @property
    def _fit_name(self) -> str:
        return f"fit-{self._fit_number:03d}"

    def _read_header(self) -> dict[str, Any] | None:
        if not (self.path / self._fit_name).exists():
            return None
        pieces = self.read(self._fit_name)
        header = None
        if pieces is not None:
            with contextlib.suppress(ValueError, RecursionError):
                header = json.loads(pieces[0])
        if not isinstance(header, dict) or not {"task", "parameters", "data", "versions", "seed"} <= header.keys():
            raise LatentiaError(
                "the checkpoint is damaged, or cannot be read. Remove it to start again, or allow reading there.",
                source=self.path,
            )
        return header

    def next_pass(self, statistics: Sequence[Any], blocks: Any) -> _PassFile | None:
        """Return the file of the fit's next pass; None outside the fit, and in other threads, whose order is not fixed."""
        if threading.get_ident() != self._thread or os.getpid() != self._process:
            return None
        self._pass_number += 1
        if any(getattr(statistic, "keeps_rows", False) for statistic in statistics):
            return None
        start = time.monotonic()
        try:
            key = digest([self._key, list(statistics), blocks.maps, len(blocks), blocks.n_rows])
        except LatentiaError:  # the pass is repeated
            if self._strict:
                raise
            return None
        self._spent += time.monotonic() - start
        return _PassFile(self, f"{self._fit_name}-pass-{self._pass_number:06d}", key)

    def read(self, name: str) -> list[bytearray] | None:
        """Return the pieces of a file; None if it is missing or incomplete."""
        try:
            with (self.path / name).open("rb") as file:
                if file.readline(len(_FIRST_LINE)) != _FIRST_LINE:
                    return None
                head = json.loads(file.readline())
                if sum(head["sizes"]) > os.fstat(file.fileno()).st_size:
                    return None
                pieces = [bytearray(size) for size in head["sizes"]]
                checksum = 0
                for piece in pieces:
                    if file.readinto(piece) != len(piece):
                        return None
                    checksum = zlib.crc32(piece, checksum)
                return pieces if checksum == head["checksum"] else None
        except (OSError, ValueError, LookupError, TypeError, MemoryError, RecursionError):
            return None

    def may_write(self, size: int) -> bool:
        """Return True if so many bytes can be written within the share of the time for writing."""
        return self._spent + _FILE_SECONDS + size / self._rate <= _WRITE_SHARE * (time.monotonic() - self._opened)

    def write_if_affordable(self, name: str, content: Any) -> int:
        """Write a file if there is time for it, and return its size in bytes."""
        start = time.monotonic()
        try:
            pieces = pack(content)
        except LatentiaError:
            if self._strict:
                raise
            return 0
        size = sum(memoryview(piece).nbytes for piece in pieces)
        if self.may_write(size):
            self._write(name, pieces)
            if size > 1 << 20:
                self._rate = size / max(time.monotonic() - start, 1e-6)
        self._spent += time.monotonic() - start
        return size

    def _write(self, name: str, pieces: Sequence[Any]) -> None:
        """Write a file to the disk, completely or not at all."""
        checksum = 0
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
        head = json.dumps({"sizes": [memoryview(piece).nbytes for piece in pieces], "checksum": checksum}).encode()
        with self._explain_write_errors(), replacing(self.path / name) as file:
            for piece in [_FIRST_LINE, head, b"\n", *pieces]:
                file.write(piece)

    @contextlib.contextmanager
    def _explain_write_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = LatentiaError(
                f"the checkpoint cannot be written ({error.strerror or error}). What it held before is whole: "
                "make room, or allow writing there, and start the same fit again to go on from it.",
                source=self.path,
            )
            raise self._error from error


def _is_checkpoint_file(path: Path) -> bool:
    """Return True for a file with a name and the first line of a checkpoint."""
    if not (path.name == _LOCK or _FIT_FILE.fullmatch(path.name)) or path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(len(_FIRST_LINE))
    # A lock may lack its line: the disk was full, or the process was killed.
    return start == _FIRST_LINE or (path.name == _LOCK and _FIRST_LINE.startswith(start))


class _PassFile:
    """`Checkpoint` of one pass: its progress and its sums. ``key`` identifies the pass."""

    def __init__(self, folder: _Folder, name: str, key: str) -> None:
        self._folder, self._name, self._key = folder, name, key
        self._size = 0  # bytes of the last state

    def load(self) -> PassState | None:
        pieces = self._folder.read(self._name)
        if pieces is None:
            return None
        try:
            key, next_block, sums = unpack(pieces)
        except DAMAGE:  # damaged: the pass is repeated
            return None
        return PassState(next_block, sums) if key == self._key else None

    def save(self, state: PassState) -> None:
        if self._folder.may_write(self._size):
            self._size = self._folder.write_if_affordable(self._name, (self._key, state.next_block, state.sums))


# --- use --------------------------------------------------------------------------------------------------------

_current: ContextVar[_Folder | None] = ContextVar("latentia_checkpoint", default=None)


@contextlib.contextmanager
def checkpointing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Store the passes of fits in a folder, and resume those of a killed process.

    The model has the same bits as after an uninterrupted fit. The folder is emptied when the block finishes without an error;
    after a crash leave it as it is, and run the same lines again. Writing takes 3% of the time at most; computations between
    passes are repeated.

    Parameters
    ----------
    folder : path
        It is made if it does not exist; otherwise it must be empty, or belong to the same fits in the same order.

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
    checkpoint_folder = _Folder(folder)
    checkpoint_folder.open()
    token = _current.set(checkpoint_folder)
    try:
        yield
        checkpoint_folder.clear()
    finally:
        _current.reset(token)
        checkpoint_folder.close()


@contextlib.contextmanager
def keep_fit(identity: Callable[[], Identity], seed: int) -> Iterator[int]:
    """Store the passes of a fit inside `checkpointing`; yield the seed that the fit started with."""
    folder = _current.get()
    if folder is None or folder.is_busy:
        yield seed
        return
    try:
        yield folder.start_fit(identity(), seed)
    finally:
        folder.end_fit()
    folder.check_written()


def open_next_pass(statistics: Sequence[Any], blocks: Any) -> Checkpoint | None:
    """Return the checkpoint of a fit's next pass inside `checkpointing`; None elsewhere."""
    folder = _current.get()
    return None if folder is None else folder.next_pass(statistics, blocks)


@contextlib.contextmanager
def keep_single_pass(
    folder: str | os.PathLike[str], statistics: Sequence[Any], blocks: Any
) -> Iterator[Checkpoint | None]:
    """Yield the checkpoint of one pass outside a fit, and empty the folder at its end."""
    checkpoint_folder = _Folder(folder, strict=True)
    checkpoint_folder.open()
    try:
        checkpoint_folder.start_fit(Identity("accumulate", {"statistics": digest(list(statistics))}, digest(blocks)), 0)
        yield checkpoint_folder.next_pass(statistics, blocks)
        checkpoint_folder.clear()
    finally:
        checkpoint_folder.close()
