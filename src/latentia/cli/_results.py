"""Folder of a command's results: written completely or not at all, and never over a file that no command wrote."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, ClassVar

from ..exceptions import LatentiaError
from ..system.scratch import NO_LINKS, real_path, scratch_folder

MODEL_FILE = "model.npz"
RESULT_FILE = "result.json"
_MANIFEST = ".latentia.json"
_PARTIAL = ".unfinished"
_RESULT_NAME = re.compile(r"[A-Za-z]+\.(bif|csv|html|json|npz|png)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_MANIFEST_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 20


def find_model(path: Path) -> Path:
    """Return the saved model of a folder of results, or the path if it is that of a model."""
    model_path = path / MODEL_FILE if path.is_dir() else path
    if not model_path.exists():
        raise LatentiaError(f"no model found. Give a folder of results, or its {MODEL_FILE}.", source=path)
    return model_path


@dataclass(frozen=True)
class Results:
    """The output folder of a command, and the options of its display.

    The folder holds a list of the files of the last run with their SHA-256: a file is replaced or removed only if the list has
    its content. The model is moved into the folder last, so its arrival completes the step; until then the list names the step.

    Attributes
    ----------
    out, source : Path
    files : tuple of str
        Files that the command may write besides those of every command.
    force : bool
        Whether results of an earlier run are replaced.
    evidence : bool
        Whether all checks are printed, not only the decisive ones.
    progress : bool
    model : Path, optional
        The model that is applied. No model is learned then, and only ``files`` are written.
    step : str
        Digest of a change to a model that must not be made twice; `is_done` finds it after an interrupted run.
    """

    out: Path
    source: Path
    files: tuple[str, ...]
    force: bool = False
    evidence: bool = False
    progress: bool = True
    model: Path | None = None
    step: str = ""

    _ALWAYS: ClassVar = ("comparison.csv", "evidence.csv", MODEL_FILE, "report.html", RESULT_FILE)

    def check(self) -> None:
        """Raise before any work if results cannot be written or would replace files of the user."""
        out = self.out
        with self._writing():
            if out.exists() and not out.is_dir():
                raise LatentiaError("exists and is not a folder. Choose another with --out.", source=out)
            if out.exists() and any(out.iterdir()) and not self.force:
                raise LatentiaError(
                    "the folder is not empty. Choose another with --out, or replace the results of an earlier run "
                    "with --force.",
                    source=out,
                )
            written = self._written()
            out.parent.mkdir(parents=True, exist_ok=True)
            for folder in (out.parent, out):  # Results are built in the first and moved into the second.
                if folder.exists():
                    with TemporaryFile(dir=folder):
                        pass
        names = set(self.files) if self.model else {*self.files, *self._ALWAYS}
        self._refuse_foreign(sorted(names - written.keys()))
        going = {real_path(out / name) for name in written}
        for path in (self.source, self.model):
            if path is not None and real_path(path) in going:
                raise LatentiaError("is an input and would be replaced. Choose another folder with --out.", source=path)
        if self.source.is_dir() and real_path(out).is_relative_to(real_path(self.source)):
            raise LatentiaError(f"--out {out}: lies in the input folder {self.source}. Choose another.")

    def is_done(self) -> bool:
        """Return True if an earlier run made this step and was interrupted before it could report it."""
        manifest, written = self._manifest(), self._written()
        done = manifest.get("step"), manifest.get("model")
        return bool(self.step) and done == (self.step, written.get(MODEL_FILE))

    def write(self, write: Callable[[Path], object]) -> list[str]:
        """Write into a folder beside ``out``, move the files over when all exist, and return their names."""
        out, partial = self.out, self.out
        try:
            with self._writing():
                out.parent.mkdir(parents=True, exist_ok=True)
                with scratch_folder(out.parent, f".{out.name}.", _PARTIAL) as scratch:
                    partial = scratch / "results"  # The lock file lies beside it.
                    partial.mkdir()
                    write(partial)
                    return self._move(partial)
        except LatentiaError as error:
            error.rename_source(partial, out)  # The user knows only the output folder.
            raise

    def _move(self, partial: Path) -> list[str]:
        """Move new files over; the list of files is correct at every moment."""
        new = {file.name: _hash_file(file) for file in sorted(partial.iterdir())}
        self.out.mkdir(exist_ok=True)
        old = self._written()
        self._refuse_foreign(sorted(new.keys() - old.keys()))
        digests_by_name = {
            name: sorted({*files}) for name in {**old, **new} if (files := _drop_none(old.get(name), new.get(name)))
        }
        self._put_manifest(partial, {"files": digests_by_name, "step": self.step, "model": new.get(MODEL_FILE)})
        for name in old.keys() - new.keys():
            (self.out / name).unlink(missing_ok=True)
        for name in sorted(new, key=lambda name: (name == MODEL_FILE, name)):
            os.replace(partial / name, self.out / name)
        self._put_manifest(partial, {"files": {name: [digest] for name, digest in new.items()}})
        return list(new)

    def _put_manifest(self, partial: Path, manifest: dict[str, Any]) -> None:
        (partial / _MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        os.replace(partial / _MANIFEST, self.out / _MANIFEST)

    def _refuse_foreign(self, names: list[str]) -> None:
        """Raise if one of these files is in the folder: no run wrote it, or it was changed since."""
        foreign = [name for name in names if os.path.lexists(self.out / name)]
        if foreign:
            raise LatentiaError(
                "would be replaced, but was written or changed outside of latentia. Move it away, or choose another "
                "folder with --out.",
                source=self.out / foreign[0],
            )

    def _manifest(self) -> dict[str, Any]:
        """Return the list of files of the last run, empty if it is missing or unreadable."""
        try:
            with open(self.out / _MANIFEST, "rb", opener=_open_without_links) as file:
                manifest = json.loads(file.read(_MAX_MANIFEST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return manifest if isinstance(manifest, dict) else {}

    def _written(self) -> dict[str, str]:
        """Return the files of the folder with the content that an earlier run wrote, with their digests."""
        files, own_files = self._manifest().get("files"), {}
        for name, digests in files.items() if isinstance(files, dict) else ():
            path = self.out / name
            is_valid = isinstance(digests, list) and all(
                isinstance(entry, str) and _DIGEST.fullmatch(entry) for entry in digests
            )
            if is_valid and _RESULT_NAME.fullmatch(name) and path.is_file() and not path.is_symlink():
                digest = _hash_file(path)
                if digest in digests:
                    own_files[name] = digest
        return own_files

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Add the folder to errors of the file system."""
        try:
            yield
        except OSError as error:
            raise LatentiaError(f"--out {self.out}: cannot be written ({error.strerror or error}).") from error


def step_of(action: str, *sources: Path) -> str:
    """Return a digest that identifies a change of a model: the action and the content of the files of rows."""
    content = hashlib.sha256(action.encode())
    for source in sources:
        files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
        if not all(path.is_file() for path in files):  # A pipe can be read only once.
            return ""
        for path in files:
            content.update(f"{os.path.relpath(path, source)!a}:{_hash_file(path)}\n".encode())
    return content.hexdigest()


def _drop_none(*digests: str | None) -> list[str]:
    return [digest for digest in digests if digest is not None]


def _open_without_links(path: str, flags: int) -> int:
    return os.open(path, flags | NO_LINKS | getattr(os, "O_NONBLOCK", 0))


def _hash_file(path: Path) -> str:
    content = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK_BYTES):
            content.update(piece)
    return content.hexdigest()
