"""Common layer of all readers of text: pipes, compression, line ends, encodings, and errors that name file and line."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import select
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

import numpy as np

from ...exceptions import FileNotice, LatentiaError, warn, write_parameter
from ...system.compressed import open_decompressed, strip_compression
from ...system.scratch import scratch_folder

_CHUNK = 1 << 25
_SNIFFED_BYTES = 1 << 12  # bytes at the beginning in which a NUL shows that a file is no UTF-8 text
LONGEST_LINE = 1 << 26
_PIPE_TIMEOUT_S = 10.0  # seconds to wait for a process that writes to a pipe
_SCAN_BYTES = 1 << 20
_BYTE_ORDER_MARKS = {  # byte order marks, the longer ones first
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WESTERN = "cp1252"  # contains all letters of Latin-1 at the same codes
_WESTERN_BYTES = bytes({*range(32, 256), *b"\t\n\v\f\r"} - {0x7F, 0x81, 0x8D, 0x8F, 0x90, 0x9D})  # bytes of such a text
_BINARY_SIGNATURES = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "an Office document or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"{\\rtf": "an RTF document",
    b"%!PS": "a PostScript document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"PAR1": "a Parquet table",
    b"\x93NUMPY": "an array of NumPy",
    b"7z\xbc\xaf": "packed by 7-Zip",
    b"(\xb5/\xfd": "packed by zstd",
}
STANDARD_INPUT = "standard input"
"""Name of the copy of standard input, without a suffix that would tell its format."""
_DESCRIPTOR = re.compile(r"/dev/(stdin|fd/\d+)|/proc/[^/]+/fd/\d+")


@contextlib.contextmanager
def reusable(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path that can be opened several times: for a pipe the path of a temporary copy. Errors name the pipe.

    ``-`` is standard input.
    """
    source = Path("/dev/stdin" if os.fspath(path) == "-" else path)
    if not _is_single_use(source):
        yield source
        return
    with scratch_folder() as folder:
        copy = folder / (STANDARD_INPUT if os.fspath(path) == "-" else source.name)
        with readable(source), open(copy, "wb") as file:
            _copy_pipe(source, file)
        try:
            yield copy
        except LatentiaError as error:
            error.rename_source(copy, source)
            raise


def open_text(path: Path) -> BinaryIO:
    """Open a file for reading bytes, unpacking gzip, bzip2 and xz; a pipe is read to its end first."""
    return open_decompressed(path, _copy_to_temporary(path) if _is_single_use(path) else open(path, "rb"))


@contextlib.contextmanager
def open_unicode(path: Path, newline: str | None = "", encoding: str | None = None) -> Iterator[IO[str]]:
    """Open a file for reading text, unpacking it; errors name the file and the line.

    The encoding is UTF-8, or UTF-16 or UTF-32 with a mark, or else Windows-1252, with a notice. Line ends stay as they are;
    with ``newline=None`` each becomes a newline.
    """
    with readable(path), open_text(path) as binary:
        used_encoding = find_encoding(path, binary, encoding)
        if used_encoding == _WESTERN and encoding is None:
            warn(
                FileNotice(
                    f"{path}: is not UTF-8 and was read as Windows-1252 (Latin-1).",
                    "encoding= names another.",
                    parameter="encoding",
                )
            )
        with io.TextIOWrapper(binary, used_encoding, newline=newline) as text:
            yield text


def find_encoding(path: Path, file: BinaryIO, encoding: str | None = None) -> str:
    """Return the encoding of a file and rewind it; raise if the file is no text in this encoding, or in any."""
    start = file.read(_SNIFFED_BYTES)
    for magic, kind in _BINARY_SIGNATURES.items():
        if start.startswith(magic):
            raise LatentiaError(f"not a text file, but {kind}. Save its text as a plain text file.", source=path)
    if encoding is None:
        chosen = next((name for mark, name in _BYTE_ORDER_MARKS.items() if start.startswith(mark)), "utf-8-sig")
    else:
        chosen = check_encoding(encoding)
    if b"\0" in start and chosen == "utf-8-sig":
        chosen = _guess_utf16(start) if encoding is None else chosen
    if b"\0" in start and chosen == "utf-8-sig":
        raise LatentiaError("not a text file.", source=path)
    problem = _find_problem(path, file, chosen)
    if problem and encoding is None and chosen == "utf-8-sig" and _is_western(file):
        chosen, problem = _WESTERN, None
    if problem:
        raise problem
    file.seek(0)
    return chosen


def _guess_utf16(start: bytes) -> str:
    """Return UTF-16 without a mark if most characters are ASCII, with one NUL each; else UTF-8."""
    for name, zero_half, letter_half in (
        ("utf-16-le", start[1::2], start[::2]),
        ("utf-16-be", start[::2], start[1::2]),
    ):
        if 2 * zero_half.count(0) > len(zero_half) and not letter_half.count(0):
            text = start.decode(name, "ignore")
            if all(letter.isprintable() or letter.isspace() for letter in text):
                return name
    return "utf-8-sig"


def check_encoding(encoding: str) -> str:
    """Return Python's name of an encoding; raise if there is none of this name."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True):  # such as hex
        raise LatentiaError("expected a text encoding that Python knows.", parameter="encoding", value=encoding)
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def no_encoding(path: Path, encoding: str) -> LatentiaError:
    """Return the error for an encoding given with a file that is no text."""
    problem = f"{path} is no text, and its encoding cannot be chosen. Leave it out."
    return LatentiaError(problem, parameter="encoding", value=encoding)


def _find_problem(path: Path, file: BinaryIO, encoding: str) -> LatentiaError | None:
    """Return the first error in a text of this encoding, or None."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    file.seek(0)
    line, length = 1, 0
    while True:
        piece = file.read(_SCAN_BYTES)
        try:
            text = decoder.decode(piece, final=not piece)  # type: ignore[arg-type]
        except UnicodeError as error:
            byte = ""
            if isinstance(error, UnicodeDecodeError):
                before = error.object[: error.start].decode(encoding, "replace")
                line += before.replace("\r\n", "\n").replace("\r", "\n").count("\n")
                byte = f" (byte {error.object[error.start]:#x})"
            name = encoding.removesuffix("-sig").upper()
            return LatentiaError(
                f"not {name} text{byte}. Save it as UTF-8, or name its encoding with {write_parameter('encoding')}.",
                source=path,
                place=f"line {line}",
            )
        if "\0" in text:
            line += text.count("\n", 0, text.index("\0"))
            return LatentiaError(
                "a NUL byte, which no text has: the file is damaged or not a text.", source=path, place=f"line {line}"
            )
        line += text.count("\n")
        length = len(text) - text.rfind("\n") - 1 if "\n" in text else length + len(text)
        if length > LONGEST_LINE:
            return LatentiaError(
                f"longer than {LONGEST_LINE} characters. Cut it into lines.", source=path, place=f"line {line}"
            )
        if not piece:
            return None


def _is_western(file: BinaryIO) -> bool:
    """Return True if a text that is not UTF-8 looks like Windows-1252 rather than damaged UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    n_broken = n_valid = 0  # characters beyond ASCII
    file.seek(0)
    while True:
        piece = file.read(_SCAN_BYTES)
        if piece.translate(None, _WESTERN_BYTES):
            return False
        text = decoder.decode(piece, final=not piece)
        n_broken_here = text.count("\ufffd")
        n_broken += n_broken_here
        n_valid += sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) - n_broken_here
        if not piece:
            return n_valid < n_broken


def plain_name(path: Path) -> str:
    """Return the name of a file in lower case, without the ending of a compressed one."""
    return strip_compression(path.name).lower()


@contextlib.contextmanager
def readable(path: Path, action: str = "read") -> Iterator[None]:
    """Turn errors of the file system into messages that name the file."""
    try:
        yield
    except OSError as error:
        raise LatentiaError(f"cannot be {action} ({error.strerror or error}).", source=path) from error


def bytes_read(file: Any) -> int:
    """Return how many bytes of the file on disk were read through a file of `open_text` or `open_unicode`."""
    file = getattr(file, "buffer", file)
    file = getattr(file, "raw", file)
    return int(getattr(file, "fileobj", file).tell())


def _is_single_use(path: Path) -> bool:
    """Return True for a path that can be read only once, or names an open file of this process: a pipe, /dev/stdin."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # opening it raises the error
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _DESCRIPTOR.fullmatch(str(path)) is not None)


def _copy_to_temporary(path: Path) -> Any:
    """Return a temporary file with the content of a pipe."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    _copy_pipe(path, file)
    file.seek(0)
    return file


def _copy_pipe(path: Path, target: Any) -> None:
    """Copy a pipe to its end."""
    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as pipe:
        mode = os.fstat(pipe.fileno()).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not pipe.isatty()):
            raise LatentiaError("expected a file or a pipe, found a device.", source=path)
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        ready = poll.poll(1000 * _PIPE_TIMEOUT_S)
        first = pipe.read(_CHUNK)  # None: there is a writer, who has written nothing yet
        if first == b"" and not ready:
            raise LatentiaError(
                f"no process opened this pipe for writing in {_PIPE_TIMEOUT_S:g} seconds. Start the program that writes to it.",
                source=path,
            )
        target.write(first or b"")
        os.set_blocking(pipe.fileno(), True)
        shutil.copyfileobj(pipe, target)


class _LineNormaliser(io.RawIOBase):
    """Bytes of a file with a newline at the end of every line, for newlines, carriage returns or both on disk."""

    def __init__(self, file: BinaryIO) -> None:
        self.fileobj, self._cut = getattr(getattr(file, "raw", file), "fileobj", file), False
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        if self._cut and data[:1] == b"\n":  # the second half of a line end
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
    return io.BufferedReader(_LineNormaliser(open_text(path)))


def chunks(path: Path, file: BinaryIO, progress: bool, line: int = 1) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (bytes of complete lines, number of the first line) from the rest of ``file``, which begins with line ``line``."""
    rest = b""
    with _byte_bar(path, progress) as advance:
        while chunk := file.read(_CHUNK):
            advance(file)
            if b"\0" in chunk:
                refuse_nul(path, line + chunk.count(b"\n", 0, chunk.index(b"\0")))
            chunk = rest + chunk
            cut = chunk.rfind(b"\n") + 1
            rest = chunk[cut:]
            if len(rest) > LONGEST_LINE:
                at = line + chunk.count(b"\n", 0, cut)
                raise LatentiaError(
                    f"longer than {LONGEST_LINE} bytes, too long for a row.", source=path, place=f"line {at}"
                )
            if cut:
                piece = np.frombuffer(chunk, np.uint8, cut)
                yield piece, line
                line += int(np.count_nonzero(piece == 10))
        if rest:
            yield np.frombuffer(rest + b"\n", np.uint8), line


def refuse_nul(path: Path, line: int) -> NoReturn:
    """Raise for a line with a NUL byte."""
    raise LatentiaError(
        "a NUL byte, which no text has: the file is damaged or not a text.", source=path, place=f"line {line}"
    )


@contextlib.contextmanager
def _byte_bar(path: Path, progress: bool) -> Iterator[Callable[[Any], None]]:
    if not progress:
        yield lambda _: None
        return
    from rich.markup import escape

    from ..._control_characters import escape_controls
    from ...system.terminal import Terminal

    console = Terminal(stderr=True)
    if not (console.is_interactive or console.is_jupyter):  # output to a log, without a bar
        yield lambda _: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("converting {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(escape(escape_controls(path.name)), total=path.stat().st_size)
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
    """Raise the error of line ``number`` (from 0) of a chunk whose first line is ``line``, with a hint and its parameter."""
    text = bytes(buffer).split(b"\n")[number][:80].decode("utf-8", "replace")
    raise LatentiaError(
        f"expected {expected}, found {text!r}.{hint}", parameter=parameter, value=value, source=path,
        place=f"line {line + number}",
    )  # fmt: skip


def quote_line(line: bytes) -> str:
    """Return the beginning of a line, quoted for messages."""
    return repr(line.strip()[:80].decode("utf-8", "replace"))
