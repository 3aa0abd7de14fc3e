"""Cache of compiled code: beside this package, in the user's cache folder, or for this process only."""

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
    """Let numba keep compiled code in a temporary folder if no other is writable; importing would fail otherwise."""
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
            "No folder for compiled code: expected the package's folder, the user's cache or the temporary folder to be "
            f"writable. Set the environment variable {_VARIABLE} to a writable folder."
        ) from error
    os.environ[_VARIABLE] = folder  # child processes use it too
    if "numba" in sys.modules:  # numba has already read its variables
        sys.modules["numba"].config.CACHE_DIR = folder  # type: ignore[attr-defined]
    atexit.register(_remove, folder, os.getpid())
    warn(
        FileNotice(
            "Compiled code is kept for this process only, since neither the package's folder nor the user's is writable: the "
            "next process compiles it again.",
            f"Set the environment variable {_VARIABLE} to a folder that can be written.",
        )
    )


def _users_caches() -> Path:
    """Return the user's cache folder."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home)
    if sys.platform == "darwin":
        return Path(home, "Library", "Caches")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(home, ".cache"))


def _can_keep(folder: Path) -> bool:
    """Return True if a folder exists or can be created, and is writable; tried, since permissions are unreliable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
