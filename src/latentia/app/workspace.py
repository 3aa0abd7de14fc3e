"""Folder of the app: the only place whose files it serves, reads and writes."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import LatentiaError
from ..system.scratch import atomic_file, real_path, scratch_folder

APP_FOLDER = ".latentia-app"
MANIFEST = ".latentia.json"
MAX_UPLOAD_BYTES = 4 << 30
_SPARE_BYTES = 64 << 20  # on the disk, for the results
_MAX_PARTS, _MAX_NAME = 8, 120
_RESULT_NAME = re.compile(r"\w[\w-]{0,60}")
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f-\x9f\\/:*?"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069]')


@dataclass(frozen=True)
class Entry:
    """A file or a folder of texts in the workspace."""

    name: str
    size: str
    date: str


class Workspace:
    """A folder with files and results; names are relative to it, and links must not lead out of it."""

    def __init__(self, root: Path) -> None:
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)  # Copies of files that others may not read lie there.
        except OSError as error:
            raise LatentiaError(
                f"the folder cannot be created ({error.strerror}). Choose another.", source=root
            ) from error
        self.root = real_path(root)

    def find(self, name: str) -> Path:
        """Return the path of an existing file or folder of the workspace; raise for all others."""
        path = self._path(name)
        if not path.is_file() and not path.is_dir():  # A pipe would be waited for without end.
            raise LatentiaError("no such file in the folder of the app. Upload it again.", source=name)
        return path

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not name or any(not part or part.startswith(".") or "\0" in part or "\\" in part for part in parts):
            raise LatentiaError("the name leads out of the folder of the app. Choose a file of the list.")
        path = self.root.joinpath(*parts)
        try:
            inside = real_path(path).is_relative_to(self.root)
        except (OSError, ValueError):
            inside = False
        if not inside:
            raise LatentiaError(
                "the name leads out of the folder of the app. Copy the file into the folder.", source=name
            )
        return path

    def result(self, name: str) -> Path:
        """Return the folder of a result, which need not exist."""
        if not _RESULT_NAME.fullmatch(name):
            raise LatentiaError(
                f"expected letters, digits, - and _, at most 61, and found {name[:60]!r}. Choose another name.",
                parameter="out",
            )
        return self._path(name)

    def app_folder(self, name: str) -> Path:
        """Return the folder beside the results that holds the job of a result."""
        self.result(name)
        folder = self.root / APP_FOLDER
        folder.mkdir(exist_ok=True)
        if real_path(folder / name) != folder / name:
            raise LatentiaError(f"{APP_FOLDER} or {APP_FOLDER}/{name} is a link. Remove it from the folder of the app.")
        return folder / name

    def free_name(self, name: str) -> str:
        """Return this name, or the first with a number that no file, result or job has."""
        stem, dot, suffix = name.partition(".")
        names = (name if i == 1 else f"{stem}-{i}{dot}{suffix}" for i in range(1, 10_000))
        return next(n for n in names if not (self.root / n).exists() and not (self.root / APP_FOLDER / n).exists())

    def entries(self) -> list[Entry]:
        """Return the files and folders of texts, newest first."""
        paths = [path for path in self._visible() if not (path / MANIFEST).is_file()]
        files = [path for path in paths if not path.name.endswith(".latentia-cache") and path != self.root]
        return [Entry(path.name, _size_text(path), date_text(path.stat().st_mtime)) for path in files]

    def results(self) -> list[str]:
        """Return the names of folders of results and of jobs, newest first."""
        names = [path.name for path in self._visible() if (path / MANIFEST).is_file()]
        jobs = sorted((self.root / APP_FOLDER).glob("*/job.json"), key=lambda path: -path.lstat().st_mtime)
        names = list(filter(_is_result_name, dict.fromkeys([*(job.parent.name for job in jobs), *names])))
        return [name for name in names if not (self.root / APP_FOLDER / name).is_symlink()]

    def remove_entry(self, name: str) -> None:
        """Remove a file or a folder of texts, and what is remembered of it."""
        if name not in [entry.name for entry in self.entries()]:
            raise LatentiaError("no such file in the folder of the app.", source=name)
        path = self.find(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._memory_file(name).unlink(missing_ok=True)

    def remove_result(self, name: str) -> None:
        """Remove the files of a result that a command wrote, and its folder if there are no others."""
        folder = self.result(name)
        files = read_json(folder / MANIFEST).get("files")
        for file in files if isinstance(files, dict) else ():
            self._path(f"{name}/{file}").unlink(missing_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def _memory_file(self, name: str) -> Path:
        path = self.root / APP_FOLDER / ".fields" / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"
        if real_path(path) != path:
            raise LatentiaError(f"{APP_FOLDER}/.fields has a link. Remove it from the folder of the app.")
        return path

    def load_forms(self, name: str) -> dict[str, dict[str, list[str]]]:
        """Return the fields of the forms about a file as they were last, by the key of the form."""
        forms = read_json(self._memory_file(name))
        return {
            str(key): {str(field): list(map(str, values)) for field, values in fields.items() if isinstance(values, list)}
            for key, fields in forms.items() if isinstance(fields, dict)
        }  # fmt: skip

    def remember(self, name: str, key: str, fields: Mapping[str, Sequence[str]]) -> None:
        """Store the fields of a form about a file."""
        forms = self.load_forms(name) | {key: {field: list(values) for field, values in fields.items()}}
        path = self._memory_file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, "w", encoding="utf-8") as file:
            json.dump(forms, file)

    def _visible(self) -> list[Path]:
        paths = [path for path in self.root.iterdir() if not path.name.startswith(".")]
        paths = [path for path in paths if real_path(path).is_relative_to(self.root) and path.exists()]
        return sorted(paths, key=lambda path: (-path.stat().st_mtime, path.name))

    def make_folder(self, name: str) -> str:
        """Create a folder for the texts of an upload; return its name."""
        name = self.free_name(_clean(name))
        (self.root / name).mkdir()
        return name

    def write(self, name: str, text: str) -> None:
        """Write a small text beside the files; raise if the name is taken."""
        path = self._path(name)
        if path.exists():
            raise LatentiaError("there is such a file already. Choose another name for the result.", source=name)
        with atomic_file(path, "w", encoding="utf-8") as file:
            file.write(text)

    async def receive(self, name: str, chunks: AsyncIterator[bytes], n_bytes: int) -> str:
        """Write an upload completely or not at all; return its name, which differs if the name is taken."""
        *folders, last = name.split("/")
        if len(folders) >= _MAX_PARTS:
            raise LatentiaError(f"expected folders in at most {_MAX_PARTS - 1} levels.", source=name[:60])
        free = shutil.disk_usage(self.root).free - _SPARE_BYTES
        if n_bytes > min(MAX_UPLOAD_BYTES, free):
            limit = "as large as the app takes" if free > MAX_UPLOAD_BYTES else "as large as the disk has room for"
            raise LatentiaError(
                f"the file has {_bytes_text(n_bytes)}; {_bytes_text(min(MAX_UPLOAD_BYTES, max(free, 0)))} is {limit}."
            )
        target = self._path("/".join([*map(_clean, folders), _clean(last)]))
        with scratch_folder(self.root, ".upload.", ".unfinished") as scratch:
            n_received = 0
            with open(scratch / "file", "wb") as file:
                async for chunk in chunks:
                    n_received += len(chunk)
                    if n_received > n_bytes:
                        raise LatentiaError("the upload is longer than it says. Try again.")
                    file.write(chunk)
            if n_received < n_bytes:
                raise LatentiaError("the upload ended early; nothing was changed. Try again.")
            if folders:
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.exists():
                    raise LatentiaError("the folder holds two files of this name.", source=name[:60])
            else:
                target = self.root / self.free_name(target.name)
            (scratch / "file").rename(target)
        return target.relative_to(self.root).as_posix()


def _clean(name: str) -> str:
    """Return a name that every system and every command takes."""
    name = _FORBIDDEN.sub("_", name).strip().lstrip(".-~").rstrip(". ")
    stem, dot, suffix = name.rpartition(".")
    encoded = (stem or suffix).encode("utf-8", "replace")[:_MAX_NAME].decode("utf-8", "ignore")
    return f"{encoded}{dot}{suffix[:20]}" if stem else encoded or "file"


def _is_result_name(name: str) -> bool:
    return _RESULT_NAME.fullmatch(name) is not None


def date_text(seconds: float) -> str:
    """Return a time of this machine."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def read_json(path: Path) -> dict[str, Any]:
    """Return a stored record; empty if it is missing or damaged."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _size_text(path: Path) -> str:
    if path.is_dir():
        return f"{sum(1 for _ in zip(path.iterdir(), range(10_000), strict=False)):,} files"
    return _bytes_text(path.stat().st_size)


def _bytes_text(n_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"
