"""Where compiled code is kept: beside this package, in the user's folder for caches, or for this process alone."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ..exceptions import FileNotice, LatentiaError, warn

_VARIABLE = "NUMBA_CACHE_DIR"


def keep_compiled_code() -> None:
    """Let numba keep compiled code in a temporary folder, where it finds no other: importing would fail instead."""
    if (
        os.environ.get(_VARIABLE)
        or _can_keep(Path(__file__).parent / "__pycache__")
        or _can_keep(_users_caches() / "numba")
    ):
        return
    try:
        folder = tempfile.mkdtemp(prefix="latentia-", suffix=".compiled")
    except OSError as error:
        raise LatentiaError(
            "Compiled code can be kept nowhere: neither the package's folder nor those of the user and for temporary files can "
            f"be written. Set the environment variable {_VARIABLE} to a folder that can."
        ) from error
    os.environ[_VARIABLE] = folder  # processes that this one starts use it too
    if "numba" in sys.modules:  # which has read its variables
        sys.modules["numba"].config.CACHE_DIR = folder  # type: ignore[attr-defined]
    atexit.register(_remove, folder, os.getpid())
    warn(
        FileNotice(
            "Compiled code is kept for this process alone, as neither the package's folder nor the user's can be written: the "
            "next one compiles it again.",
            f"Set the environment variable {_VARIABLE} to a folder that can be written.",
        )
    )


def _users_caches() -> Path:
    """The folder in which programs keep what they can make again."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home)
    if sys.platform == "darwin":
        return Path(home, "Library", "Caches")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(home, ".cache"))


def _can_keep(folder: Path) -> bool:
    """Whether a folder is there, or can be made, and files in it: tried as numba does, since permissions do not tell."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
