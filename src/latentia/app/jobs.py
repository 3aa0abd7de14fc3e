"""Jobs: runs of commands in processes of their own, whose whole state is on the disk.

A running process holds a lock on a file, so that a page, another tab or a server that was started later sees what it does. A
job that was stopped or killed is resumed by the same command, which continues from its checkpoint.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import LatentiaError
from ..system.scratch import NO_LINKS, atomic_file
from .workspace import Workspace, read_json

try:
    import fcntl
except ImportError:  # Windows: jobs of an earlier server are then taken as stopped.
    fcntl = None  # type: ignore[assignment]

MAX_RUNNING = 4
_TAIL_BYTES = 1 << 16
_MAX_LINES, _MAX_NOTES = 40, 20
_TRACEBACK = "Traceback (most recent call last):"
_APP_OPTIONS = "--json", "--progress", "json"
_PROCESSES: dict[Path, subprocess.Popen[bytes]] = {}  # used where files have no locks


@dataclass(frozen=True)
class Progress:
    """State of a job for people.

    Attributes
    ----------
    state : {"running", "stopped", "failed", "done", "none"}
        "none" if the app did not start a job of this name.
    stage : str
    done, total : int
    unit : str
    seconds_left : float or None
        Seconds until the end of the stage.
    seconds : float
        Seconds since the start.
    lines : list of str
        The lines that the command printed, the last of them.
    notes : list of str
        Those among them that need attention.
    error : str
    """

    state: str
    stage: str = ""
    done: int = 0
    total: int = 0
    unit: str = ""
    seconds_left: float | None = None
    seconds: float = 0.0
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


class Job:
    """The run of a command that writes the result of this name."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace, self.name = workspace, name
        self.folder = workspace.app_folder(name)

    @property
    def record(self) -> dict[str, Any]:
        """Return what is stored of the job: its command and its start."""
        return read_json(self.folder / "job.json")

    @property
    def command(self) -> list[str]:
        """Return the words of the command, without those that the app adds."""
        command = self.record.get("command", [])
        return command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []

    def start(self, command: list[str], checkpoint: bool, question: str = "") -> None:
        """Start the command, which must write the result of this name; it continues from its checkpoint.

        The key of the question that it answers is stored, so that one finds the way back to the form.
        """
        if sum(Job(self.workspace, name).is_running() for name in self.workspace.results()) >= MAX_RUNNING:
            raise LatentiaError(f"{MAX_RUNNING} jobs are running. Wait for the end of one, or stop it.")
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600), "wb") as lock:
            if not _lock(lock):
                raise LatentiaError("this job is running already.")
            added = [*_APP_OPTIONS, *(["--checkpoint", str(self.folder / "checkpoint")] if checkpoint else [])]
            record = {"command": command, "started": time.time(), "question": question}
            self._write(record)
            # Without -P modules would be loaded from the folder, and so from uploads.
            words = [sys.executable, "-P", "-m", "latentia", *command, *added]
            for name in ("summary.json", "log"):
                (self.folder / name).unlink(missing_ok=True)
            with open(self.folder / "summary.json", "xb") as out, open(self.folder / "log", "xb") as log:
                process = subprocess.Popen(
                    words, cwd=self.workspace.root, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                    start_new_session=True, pass_fds=() if fcntl is None else (lock.fileno(),),
                    env=os.environ | {"COLUMNS": "110", "NO_COLOR": "1"},
                )  # fmt: skip
            _PROCESSES[self.folder] = process
            self._write(record | {"pid": process.pid})
        threading.Thread(target=process.wait, daemon=True).start()

    def _write(self, record: dict[str, Any]) -> None:
        with atomic_file(self.folder / "job.json", "w", encoding="utf-8") as file:
            json.dump(record, file)

    def is_running(self) -> bool:
        if fcntl is None:
            return self.folder in _PROCESSES and _PROCESSES[self.folder].poll() is None
        try:
            with open(self.folder / "lock", "rb") as lock:
                return not _lock(lock)
        except OSError:
            return False

    def stop(self, at_once: bool = False) -> None:
        """Stop the process as Ctrl-C does, or kill it; the same command continues it."""
        record = self.record
        pid = record.get("pid")
        if self.is_running() and isinstance(pid, int) and pid > 1:
            self._write(record | {"stopping": True})
            os.kill(pid, signal.SIGTERM if at_once else signal.SIGINT)

    def forget(self) -> None:
        """Remove what is stored of a job that ended without a result."""
        if self.is_running():
            raise LatentiaError("the job is running. Stop it first.")
        shutil.rmtree(self.folder, ignore_errors=True)

    def progress(self) -> Progress:
        """Return the state from the disk."""
        record = self.record
        if not record:
            return Progress("none")
        running = self.is_running()
        events, lines = _read_log(self.folder / "log")
        summary = read_json(self.folder / "summary.json")
        error = str(summary.get("error", ""))
        done = bool(summary) and not error
        state = (
            "running" if running else "done" if done else "failed" if error not in ("", "interrupted") else "stopped"
        )
        if state == "stopped" and not error:
            error = "interrupted" if record.get("stopping") else "The process was ended from outside."
            if _TRACEBACK in lines:
                state, error = "failed", f"latentia itself failed: {lines[-1]}. {self.folder / 'log'} says where."
                lines = lines[: lines.index(_TRACEBACK)]
        event: dict[str, Any] = events[-1] if events else {"stage": "starting", "done": 0, "total": 0, "unit": ""}
        events_of_stage = [e for e in events if (e["stage"], e["total"]) == (event["stage"], event["total"])]
        spent = event["seconds"] - events_of_stage[0]["seconds"] if events_of_stage else 0.0
        seconds_left = spent * (event["total"] - event["done"]) / event["done"] if event["done"] else None
        ended, started = self.folder / "summary.json", record.get("started")
        now = ended.stat().st_mtime if not running and ended.exists() else time.time()
        seconds = now - started if isinstance(started, float) and 0 < started < now else 0.0
        notes = [line.partition(": ")[2] for line in lines if line.startswith(("note: ", "warning: "))]
        stage = f"stopping at the end of this step ({event['stage']})" if record.get("stopping") else event["stage"]
        return Progress(
            state, stage, event["done"], event["total"], event["unit"], seconds_left if running else None, seconds,
            tuple(lines[-_MAX_LINES:]), tuple(dict.fromkeys(notes[:_MAX_NOTES])), error,
        )  # fmt: skip


def _lock(file: Any) -> bool:
    """Take the lock of a file until all who inherit it close it; return False if it is taken."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_progress(event: Any) -> bool:
    kinds = {"stage": str, "done": int, "total": int, "unit": str, "seconds": float}
    if not isinstance(event, dict) or not all(isinstance(event.get(key), kind) for key, kind in kinds.items()):
        return False
    return 0 <= event["done"] <= event["total"] < 1 << 53 and 0 <= event["seconds"] < 1 << 53


def _read_log(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the progress and the other lines at the beginning and the end of a log."""
    events: list[dict[str, Any]] = []
    lines: list[str] = []
    try:
        with open(path, "rb") as file:
            text = file.read(_TAIL_BYTES)  # Notes about the file come first.
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, len(text)))
            text += file.read()
    except OSError:
        return [], []
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith('{"progress": '):
            try:
                event = json.loads(line)["progress"]
            except (ValueError, RecursionError):  # The last line is being written.
                continue
            if _is_progress(event):  # Names in a file may look like it.
                events.append(event)
        elif line.strip():
            lines.append(line.rstrip())
    return events, lines
