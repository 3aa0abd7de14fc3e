"""Reader of compressed files: gzip, bzip2, xz, and zip archives, including ``.npz`` and ``.xlsx`` files.

A file may unpack to 256 MiB, or to 250 times its size if that is more. Streams are unpacked in chunks and counted; archives are
checked by their declared sizes, and a member never yields more than it declares.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import LatentiaError

_ENDINGS = (".gz", ".bz2", ".xz")
_MIN_LIMIT_BYTES = 1 << 28  # every file may unpack to this many bytes,
_MAX_RATIO = 250  # or to this multiple of its size: texts reach 3 to 10 times, tables of zeros up to 200 times
_MAX_MEMBERS = 10_000
_MAX_DEFLATE_RATIO = 1032  # largest expansion by deflate
_XZ_MEMORY = 1 << 28  # largest dictionary of an xz file in bytes; `xz -9` needs 65 MiB
_CHUNK_BYTES = 1 << 17
_ENCRYPTED = 1
_MAGIC_LENGTH = 6


def max_unpacked_size(size: int) -> int:
    """Return how many bytes a compressed file of ``size`` bytes may unpack to."""
    return max(_MIN_LIMIT_BYTES, _MAX_RATIO * size)


def is_compressed(path: Path) -> bool:
    """Return True if a file begins like a gzip, bzip2 or xz stream, whatever its name."""
    with open(path, "rb") as file:
        return _decoder_of(file) is not None


def strip_compression(name: str) -> str:
    """Return the name of a file without the suffix of a compressed file."""
    stem, ending = os.path.splitext(name)
    return stem if ending.lower() in _ENDINGS else name


def open_decompressed(path: Path, file: BinaryIO) -> BinaryIO:
    """Return a reader of the content of an open file; the file itself if it is not compressed.

    Parameters
    ----------
    path : Path
        The file's name, for messages.
    file : binary file
        It is closed with the reader.

    Returns
    -------
    binary file
        It can be read and rewound. Reading damaged content, or more than `max_unpacked_size`, raises a `LatentiaError`.
    """
    make_decoder = _decoder_of(file)
    return file if make_decoder is None else io.BufferedReader(_Stream(path, file, make_decoder), _CHUNK_BYTES)


@contextlib.contextmanager
def open_archive(path: Path, file: BinaryIO | None = None) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive (``.zip``, ``.npz``, ``.xlsx``) whose members together keep the limits.

    Parameters
    ----------
    path : Path
        The file, or its name for messages.
    file : binary file, optional
        The open file; it is rewound and stays open.

    Raises
    ------
    LatentiaError
        If the archive is damaged, encrypted, packed by other methods than stored and deflate, has duplicate names or more than
        10,000 members, or declares more than `max_unpacked_size`. The message names the file.
    """
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open(path, "rb")) if file is None else file
        try:
            archive = stack.enter_context(zipfile.ZipFile(source))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, LookupError, EOFError) as error:
            raise LatentiaError(f"not a readable zip archive ({error}).", source=path) from error
        _check_members(path, archive, source.seek(0, os.SEEK_END))
        source.seek(0)
        yield archive


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a member of an archive from `open_archive`, at most as long as declared."""
    with archive.open(member) as packed:
        return packed.read(member.file_size + 1)


def _check_members(path: Path, archive: zipfile.ZipFile, size: int) -> None:
    """Raise if an archive in a file of ``size`` bytes declares impossible or too large members."""
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise LatentiaError(f"an archive of {len(members)} files; at most {_MAX_MEMBERS} are read.", source=path)
    if len({member.filename for member in members}) < len(members):
        raise LatentiaError("two files of the archive have the same name.", source=path)
    for member in members:
        is_stored = member.compress_type == zipfile.ZIP_STORED
        if member.flag_bits & _ENCRYPTED or not (is_stored or member.compress_type == zipfile.ZIP_DEFLATED):
            raise LatentiaError(
                f"{member.filename!r} in the archive is encrypted, or packed by another method than deflate.",
                source=path,
            )
        if member.file_size > member.compress_size * (1 if is_stored else _MAX_DEFLATE_RATIO):
            raise LatentiaError(
                f"{member.filename!r} in the archive declares {member.file_size} bytes, which its "
                f"{member.compress_size} packed ones cannot hold: damaged.",
                source=path,
            )
    if sum(member.compress_size for member in members) > size:
        raise LatentiaError("the files of the archive overlap: damaged.", source=path)
    if sum(member.file_size for member in members) > max_unpacked_size(size):
        raise _too_large(path, size)


def _too_large(path: Path, size: int) -> LatentiaError:
    return LatentiaError(
        f"its {size} bytes unpack to more than {max_unpacked_size(size)} bytes, unlike texts and tables. If you trust "
        "the file, unpack it first.",
        source=path,
    )


def _decoder_of(file: BinaryIO) -> Callable[[], Any] | None:
    """Return the factory of a decoder for a file, by its first bytes, and rewind the file."""
    start = file.read(_MAGIC_LENGTH)
    file.seek(0)
    return next((decoder for magic, decoder in _DECODERS.items() if start.startswith(magic)), None)


class _Inflater:
    """Decoder of one gzip stream, with the interface of the bzip2 and xz decoders."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data


_DECODERS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": _Inflater,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
}


class _Stream(io.RawIOBase):
    """Content of all streams of a compressed file, with a count of bytes."""

    def __init__(self, path: Path, file: BinaryIO, make_decoder: Callable[[], Any]) -> None:
        self.fileobj, self._path, self._make_decoder = file, path, make_decoder
        self._size = file.seek(0, os.SEEK_END)
        self._rewind()

    def _rewind(self) -> None:
        self.fileobj.seek(0)
        self._decoder, self._position = self._make_decoder(), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, from the beginning or from here, by unpacking and dropping the content before it."""
        if whence == os.SEEK_END:
            while self.read(_CHUNK_BYTES):
                pass
        target = offset + (0 if whence == os.SEEK_SET else self._position)
        if target < self._position:
            self._rewind()
        while self._position < target and self.read(min(target - self._position, _CHUNK_BYTES)):
            pass
        return self._position

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._decompress(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise LatentiaError(f"the compressed file is damaged or truncated ({error}).", source=self._path) from error
        self._position += len(data)
        if self._position > max_unpacked_size(self._size):
            raise _too_large(self._path, self._size)
        buffer[: len(data)] = data
        return len(data)

    def _decompress(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``; none at the end."""
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data.lstrip(b"\0") or self.fileobj.read(_CHUNK_BYTES).lstrip(b"\0")
                if not rest:
                    return b""
                self._decoder = self._make_decoder()
                data = self._decoder.decompress(rest, size)
            else:
                needs_input = self._decoder.needs_input
                piece = self.fileobj.read(_CHUNK_BYTES) if needs_input else b""
                data = self._decoder.decompress(piece, size)
                if needs_input and not piece and not data and not self._decoder.eof:
                    raise EOFError("it ends within a stream")
            if data:
                return bytes(data)

    def close(self) -> None:
        self.fileobj.close()
        super().close()
