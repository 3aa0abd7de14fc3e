"""Where compiled code is kept if the folders of the package and of the user cannot be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import latentia
from latentia.exceptions import LatentiaError
from latentia.system import compiled as _compiled

CODE = """
import sys, tempfile, os
{first}
import latentia
import latentia.topics, latentia.sequences, latentia.dictionary
print(os.environ.get("NUMBA_CACHE_DIR", ""))
"""


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package, and an environment, in which no folder for compiled code can be made, by nobody."""
    package = Path(latentia.__file__).parent
    copy = shutil.copytree(package, tmp_path / "site" / "latentia", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    (tmp_path / "temporary").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "LOCALAPPDATA"))}
    return kept | {
        "PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def run(environment, first=""):
    command = [sys.executable, "-c", CODE.format(first=first)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("first", ["", "import numba"])
def test_a_package_that_cannot_be_written_is_imported(sealed, tmp_path, first):
    found = run(sealed, first)
    assert found.returncode == 0, found.stderr
    folder = Path(found.stdout.strip())
    assert folder.parent == tmp_path / "temporary"
    assert not folder.exists()
    assert found.stderr.count("FileNotice") == 1
    assert "Set the environment variable NUMBA_CACHE_DIR to a folder that can be written." in found.stderr


def test_a_folder_that_is_named_is_used(sealed, tmp_path):
    found = run(sealed | {"NUMBA_CACHE_DIR": str(tmp_path / "mine")})
    assert (found.returncode, found.stdout.strip(), found.stderr) == (0, str(tmp_path / "mine"), "")


def test_the_folder_of_the_user_is_used(sealed, tmp_path):
    found = run(sealed | {"XDG_CACHE_HOME": str(tmp_path / "caches")})
    assert (found.returncode, found.stdout.strip(), found.stderr) == (0, "", "")
    assert (tmp_path / "caches" / "numba").is_dir() or sys.platform != "linux"


def test_where_nothing_can_be_written_the_variable_is_named(monkeypatch):
    def fails(**_):
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(_compiled, "_can_keep", lambda folder: False)
    monkeypatch.setattr(_compiled.tempfile, "mkdtemp", fails)
    with pytest.raises(LatentiaError, match="NUMBA_CACHE_DIR to a writable folder"):
        _compiled.keep_compiled_code()
