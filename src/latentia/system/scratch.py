"""Folders for work in progress, and files that are written atomically.

A folder is removed when the work ends or, if the process was killed, by the next process. A process that works in a folder
holds a lock on a file in it, which the system releases when the process ends. Names of folders are random, and nobody else can
write in them, so nothing is written through a link placed by someone else.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..exceptions import LatentiaError

try:
    import fcntl
except ImportError:  # not on this system: abandoned folders are removed by age
    fcntl = None  # type: ignore[assignment]


def path_of(path: Any) -> Path:
    """Return the path of a file to read or write; raise for what names none."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str) or not Path(path).name:
        raise LatentiaError(f"Expected the name of a file; found {path!r}.", parameter="path")
    return Path(path)


SCRATCH = "latentia-", ".scratch"
"""Prefix and suffix of the names of temporary folders."""

NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
"""Flag of `os.open` for files that are never links; 0 on systems without it."""

_FILE = ".latentia-", ".partial"
_LOCK, _UNLOCKED = "latentia.lock", "latentia.lock.new"
_RANDOM = r"[a-z0-9_]{8}"  # random part of names by `tempfile`
_MAX_AGE = 3600.0  # seconds after which a folder without a readable lock counts as abandoned


@contextlib.contextmanager
def scratch_folder(
    parent: str | os.PathLike[str] | None = None, prefix: str = SCRATCH[0], suffix: str = SCRATCH[1]
) -> Iterator[Path]:
    """Create a folder, by default among the temporary files, and remove it at the end, with those of killed processes."""
    parent = Path(parent or tempfile.gettempdir())
    sweep(parent, prefix, suffix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
    lock = None
    try:
        lock = _create_lock(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def real_path(path: str | os.PathLike[str]) -> Path:
    """Resolve a path; circular links stay as they are, and fail when they are opened."""
    return Path(os.path.realpath(path))


def can_write(folder: str | os.PathLike[str]) -> bool:
    """Return True if a folder is writable; an unnamed file is created, since permissions are unreliable."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that replaces its target when the block ends successfully; otherwise nothing changes.

    Parameters
    ----------
    path : path
        An existing file is replaced; a link is replaced, not followed.
    mode, **options
        As in `open`.

    Raises
    ------
    LatentiaError
        If the file cannot be written, with its name and the reason.
    """
    try:
        with replacing(path, mode, **options) as file:
            yield file
    except OSError as error:
        raise LatentiaError(f"cannot be written ({error.strerror or error}).", source=os.fspath(path)) from error


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file as `atomic_file` does, without converting file system errors."""
    with scratch_folder(Path(path).parent, *_FILE) as folder:
        partial = folder / "file"
        with open(partial, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def sweep(parent: Path, prefix: str = _FILE[0], suffix: str = _FILE[1]) -> None:
    """Remove abandoned folders of `scratch_folder` with such names."""
    pattern = re.compile(re.escape(prefix) + _RANDOM + re.escape(suffix))
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _create_lock(folder: Path) -> int:
    """Create the lock of a folder; it gets its name only after it is held."""
    unnamed = folder / _UNLOCKED
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unnamed.rename(folder / _LOCK)
    return descriptor


def _remove_if_abandoned(folder: Path) -> None:
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        return
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | NO_LINKS)
    except FileNotFoundError:
        paths = [folder, *folder.iterdir()]
        if time.time() - max(path.lstat().st_mtime for path in paths) > _MAX_AGE:
            if folder / _UNLOCKED in paths:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                folder.rmdir()  # a process killed before locking leaves an empty folder; a nonempty one is not ours
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while another process works there
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
