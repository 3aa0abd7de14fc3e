"""Folders for work in progress: gone when the work ends or, where the process was killed, when the next one looks.

Who works in a folder holds a lock on a file in it, and the system lets go of the lock with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on this system: what is left behind goes when it is old
    fcntl = None  # type: ignore[assignment]

__all__ = ["SCRATCH", "can_write", "scratch_folder", "sweep", "unlock"]

SCRATCH = "latentia-", ".scratch"
"""How the names of folders for temporary files begin and end."""

_LOCK = "lock"
_OLD = 3600.0  # seconds after which a folder without a lock was left behind


@contextlib.contextmanager
def scratch_folder(
    parent: str | os.PathLike[str] | None = None, prefix: str = SCRATCH[0], suffix: str = SCRATCH[1]
) -> Iterator[Path]:
    """A new folder, by default among the temporary files, that is removed in the end; what killed processes left is too."""
    parent = Path(parent or tempfile.gettempdir())
    sweep(parent, prefix, suffix)
    folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
    lock = None
    try:
        lock = _locked(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def can_write(folder: str | os.PathLike[str]) -> bool:
    """Whether a file can be made in a folder. One without a name is made: permissions do not tell it of every system."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def unlock(folder: Path) -> None:
    """Take the lock out of a folder that is whole and about to be moved to its place."""
    (folder / _LOCK).unlink(missing_ok=True)


def sweep(parent: Path, prefix: str, suffix: str) -> None:
    """Remove folders with such names in which nobody works any more."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(suffix) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path))


def _locked(folder: Path) -> int:
    """Open the lock of a folder; it has its name only once it is held."""
    unnamed = folder / f"{_LOCK}.new"
    descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unnamed.rename(folder / _LOCK)
    return descriptor


def _remove_if_left(folder: Path) -> None:
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        return
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        if time.time() - folder.stat().st_mtime > _OLD:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while somebody works there
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
