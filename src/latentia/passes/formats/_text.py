"""The one layer under all readers of text: pipes, gzip, ends of lines, encodings, and errors that name file and line."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import select
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

import numpy as np

from ...exceptions import LatentiaError

__all__ = [
    "bytes_read",
    "chunks",
    "fail",
    "is_packed",
    "open_lines",
    "open_text",
    "open_unicode",
    "plain_name",
    "readable",
    "refuse_nul",
    "reusable",
    "shown",
]

_CHUNK = 1 << 25
_LOOKED_AT = 1 << 12  # bytes among which a text has no NUL
_GZIP = b"\x1f\x8b"
_PATIENCE = 10.0  # seconds without anyone who writes to a pipe
_DESCRIPTOR = re.compile(r"/dev/(stdin|fd/\d+)|/proc/[^/]+/fd/\d+")


@contextlib.contextmanager
def reusable(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path that can be opened again and again: for a pipe that of a temporary copy. Errors name the pipe.

    ``-`` is standard input.
    """
    source = Path("/dev/stdin" if os.fspath(path) == "-" else path)
    if not _runs_dry(source):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="latentia-") as folder:
        copy = Path(folder) / source.name
        with readable(source), open(copy, "wb") as file:
            _drain(source, file)
        try:
            yield copy
        except LatentiaError as error:
            error.problem = error.problem.replace(str(copy), str(source))
            error.args = (str(error).replace(str(copy), str(source)),)
            raise


def open_text(path: Path) -> BinaryIO:
    """Open a file for reading bytes, unpacking gzip; a pipe is read to its end first."""
    file: Any = _drained(path) if _runs_dry(path) else open(path, "rb")  # noqa: SIM115
    packed = file.read(2) == _GZIP
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[return-value]


@contextlib.contextmanager
def open_unicode(path: Path, newline: str | None = "") -> Iterator[IO[str]]:
    """Open a file for reading text, UTF-8 or marked as UTF-16, unpacking gzip; errors name the file and the line.

    Ends of lines stay as they are; with ``newline=None`` each becomes a newline.
    """
    with readable(path), open_text(path) as binary:
        start = binary.read(_LOOKED_AT)
        binary.seek(0)
        wide = start[:2] in (b"\xff\xfe", b"\xfe\xff")
        if b"\0" in start and not wide:
            raise LatentiaError(f"{path}: not a text file.")
        encoding, errors = ("utf-16", "replace") if wide else ("utf-8-sig", "strict")
        with io.TextIOWrapper(binary, encoding, errors, newline=newline) as text:
            try:
                yield text
            except UnicodeDecodeError:
                _refuse_undecodable(path, binary)


def is_packed(path: Path) -> bool:
    """Whether a file is packed by gzip, whatever its name."""
    with open(path, "rb") as file:
        return file.read(2) == _GZIP


def plain_name(path: Path) -> str:
    """The name of a file in lower case, without ``.gz``."""
    return path.name.lower().removesuffix(".gz")


@contextlib.contextmanager
def readable(path: Path, what: str = "read") -> Iterator[None]:
    """Turn errors of the file system and of gzip into messages that name the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LatentiaError(f"{path}: the compressed file is damaged or truncated ({error}).") from error
    except OSError as error:
        raise LatentiaError(f"{path}: cannot be {what} ({error.strerror or error}).") from error


def bytes_read(file: Any) -> int:
    """How many bytes of the file on disk, packed as it is, were read through what `open_text` or `open_unicode` gave."""
    file = getattr(file, "buffer", file)
    file = getattr(file, "raw", file)
    return int(getattr(file, "fileobj", file).tell())


def _refuse_undecodable(path: Path, file: BinaryIO) -> NoReturn:
    """Raise for the first line that is not UTF-8."""
    file.seek(0)
    for number, line in enumerate(file, 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise LatentiaError(
                f"{path}, line {number}: not UTF-8 text (byte {line[error.start]:#x}). Save it as UTF-8."
            ) from error
    raise LatentiaError(f"{path}: not UTF-8 text. Save it as UTF-8.")


def _runs_dry(path: Path) -> bool:
    """Whether a path gives its bytes but once, or names an open file of this process: a pipe, a terminal, /dev/stdin."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # who opens it will say so
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _DESCRIPTOR.fullmatch(str(path)) is not None)


def _drained(path: Path) -> Any:
    """A temporary file with all that comes out of a pipe."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    _drain(path, file)
    file.seek(0)
    return file


def _drain(path: Path, target: Any) -> None:
    """Copy a pipe to its end."""
    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as pipe:
        mode = os.fstat(pipe.fileno()).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not pipe.isatty()):
            raise LatentiaError(f"{path}: a device, and a file or a pipe is needed.")
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        ready = poll.poll(1000 * _PATIENCE)
        first = pipe.read(_CHUNK)  # None: there is a writer, who has written nothing yet
        if first == b"" and not ready:
            raise LatentiaError(
                f"{path}: a pipe that nobody has opened for writing in {_PATIENCE:g} seconds. Start what writes to it."
            )
        target.write(first or b"")
        os.set_blocking(pipe.fileno(), True)
        shutil.copyfileobj(pipe, target)


class _Lines(io.RawIOBase):
    """Bytes of a file in which every line ends with a newline, whatever ends it on disk: that, a return, or both."""

    def __init__(self, file: BinaryIO) -> None:
        self.fileobj, self._cut = getattr(file, "fileobj", file), False
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        if self._cut and data[:1] == b"\n":  # the second half of an end
            data = data[1:] or self._file.read(len(buffer))
        self._cut = data[-1:] == b"\r"
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def open_lines(path: Path) -> BinaryIO:
    """Open a file for reading bytes as `open_text` does; every line ends with a newline."""
    return io.BufferedReader(_Lines(open_text(path)))


def chunks(path: Path, file: BinaryIO, progress: bool, line: int = 1) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (bytes of whole lines, number of the first line) of what is left of ``file``, from number ``line`` on."""
    rest = b""
    with _byte_bar(path, progress) as advance:
        while chunk := file.read(_CHUNK):
            advance(file)
            if b"\0" in chunk:
                refuse_nul(path, line + chunk.count(b"\n", 0, chunk.index(b"\0")))
            chunk = rest + chunk
            cut = chunk.rfind(b"\n") + 1
            rest = chunk[cut:]
            if cut:
                piece = np.frombuffer(chunk, np.uint8, cut)
                yield piece, line
                line += int(np.count_nonzero(piece == 10))
        if rest:
            yield np.frombuffer(rest + b"\n", np.uint8), line


def refuse_nul(path: Path, line: int) -> NoReturn:
    """Raise for a line with a NUL byte."""
    raise LatentiaError(f"{path}, line {line}: a NUL byte, which no text has: the file is damaged or not a text.")


@contextlib.contextmanager
def _byte_bar(path: Path, progress: bool) -> Iterator[Callable[[Any], None]]:
    if not progress:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("converting {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        yield lambda file: bar.update(task, completed=bytes_read(file))


def fail(
    path: Path,
    line: int,
    buffer: np.ndarray,
    number: int,
    expected: str,
    hint: str = "",
    parameter: str | None = None,
    value: Any = None,
) -> NoReturn:
    """Raise for line ``number`` (from 0) of a chunk whose first line is ``line``: a hint, and the parameter it is about."""
    text = bytes(buffer).split(b"\n")[number][:80].decode("utf-8", "replace")
    problem = f"{path}, line {line + number}: expected {expected}, found {text!r}.{hint}"
    raise LatentiaError(problem, parameter=parameter, value=value)


def shown(line: bytes) -> str:
    """The beginning of a line as it stands in messages."""
    return repr(line.strip()[:80].decode("utf-8", "replace"))
