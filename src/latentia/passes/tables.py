"""Tables in one form: two dimensions, numbers that the statistics can sum, sparse ones by rows; and pieces of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._frames import table_of
from ..exceptions import LatentiaError
from ..system.scratch import real_path


def as_table(part: Any, number: int | str, names: bool = False) -> Any:
    """An ndarray or csr_array with two dimensions; columns of a data frame must be numeric.

    ``number`` is that of the part, or its name, for messages. ``names`` allows one column of strings: the symbols of sequences.
    """
    place, part = number if isinstance(number, str) else f"Part {number}", table_of(part)
    if sparse.issparse(part):
        if part.ndim != 2:
            raise LatentiaError(f"{place} has {part.ndim} dimensions: a table of rows and columns is needed.")
        _check_type(part.dtype, place)
        return _of_numbers(canonical(part, place), place)  # in this order: SciPy changes matrices that it casts
    if hasattr(part, "columns") and hasattr(part, "dtypes"):
        for name, dtype in zip(part.columns, part.dtypes, strict=True):
            if getattr(dtype, "kind", "f") in "OUSM":
                raise LatentiaError(
                    f"{place}: column {name!r} has type {dtype}, and numbers are needed. Drop or encode it."
                )
        if hasattr(part, "sparse") and all(str(d).startswith("Sparse") for d in part.dtypes):
            return _of_numbers(canonical(part.sparse.to_coo(), place), place)
        nullable = any(
            not isinstance(dtype, np.dtype) for dtype in part.dtypes
        )  # for which None stands where a value is missing
        part = part.to_numpy(dtype=np.float64, na_value=np.nan) if nullable else part.to_numpy()
    try:
        table = np.asarray(unmasked(part))
    except ValueError as error:  # rows of different lengths
        raise LatentiaError(f"{place} is no table of rows and columns: {error}") from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise LatentiaError(f"{place} has {table.ndim} dimensions: a table of rows and columns is needed.")
    return table if names and table.dtype.kind == "U" and table.shape[1] == 1 else _of_numbers(table, place)


def _of_numbers(table: Any, place: str) -> Any:
    """The table with a type that the statistics can sum: truth values, whole numbers, or floats of 4 or 8 bytes."""
    _check_type(table.dtype, place)
    plain = table.dtype.kind != "f" or table.dtype.itemsize in (4, 8)
    dtype = table.dtype.newbyteorder("=") if plain else np.dtype(np.float64)  # compiled kernels swap no bytes
    with np.errstate(over="ignore"):  # what becomes infinite is refused where numbers are looked at
        return table if table.dtype == dtype else table.astype(dtype)


def unmasked(table: Any) -> Any:
    """A masked array as floats with NaN for what is masked; anything else as it is."""
    return np.ma.filled(table.astype(np.float64), np.nan) if np.ma.is_masked(table) else table


def _check_type(dtype: np.dtype, place: str) -> None:
    if dtype.kind not in "biuf":
        raise LatentiaError(f"{place} has type {dtype}, and numbers are needed. Drop or encode what is none.")


def canonical(table: Any, name: str = "The sparse matrix") -> sparse.csr_array:
    """A sparse matrix in one form: by rows, columns ascending, each entry once, none of them zero.

    So equal matrices give the same bits, however they are stored. The matrix itself stays as it is, and shares its arrays with
    the result where it has this form already. Tables of caches, which are mapped from files, are written in it.

    Raises
    ------
    LatentiaError
        If its arrays contradict each other.
    """
    if table.format == "csr" and all(is_mapped(array) for array in arrays_of(table)):
        return table if isinstance(table, sparse.csr_array) else sparse.csr_array(table)
    found = sparse.csr_array(undamaged(table, name))
    kind = np.int32 if max(*found.shape, found.nnz) < 2**31 else np.int64
    found.indices, found.indptr = (places.astype(kind, copy=False) for places in (found.indices, found.indptr))
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    if not found.data.all():
        found = found.copy()
        found.eliminate_zeros()
    return found


def undamaged(table: Any, name: str) -> Any:
    """A sparse matrix with the arrays of another one, which are checked: compiled code would read and write beyond them."""
    try:
        if table.format in ("csr", "csc"):  # a new one knows nothing of the other's flags, and changes nothing of it
            kind = sparse.csr_array if table.format == "csr" else sparse.csc_array
            table = kind((table.data, table.indices, table.indptr), shape=table.shape)
        elif table.format == "coo":
            table = sparse.coo_array((table.data, table.coords), shape=table.shape)
        if hasattr(table, "check_format"):
            table.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise LatentiaError(
            f"{name} is damaged: {error}. Make it anew, such as with scipy.sparse.csr_array."
        ) from error
    return table


def piece(table: Any, start: int, stop: int) -> Any:
    """Rows start to stop as a view where possible: SciPy's own slicing copies the entries.

    Rows of a dense piece lie one after the other, however the table is laid out: bits of products would depend on it.
    """
    if isinstance(table, RepeatedTable):
        return taken(table.table, table.rows[start:stop])
    if not sparse.issparse(table):
        return np.ascontiguousarray(table[start:stop])
    lo, hi = int(table.indptr[start]), int(table.indptr[stop])
    indptr = (table.indptr[start : stop + 1] - lo).astype(table.indices.dtype, copy=False)
    piece = sparse.csr_array((stop - start, table.shape[1]), dtype=table.dtype)
    piece.data, piece.indices, piece.indptr = table.data[lo:hi], table.indices[lo:hi], indptr
    return piece


def taken(table: Any, rows: np.ndarray) -> Any:
    """Some rows, copied: SciPy would bring all entries to the type of the row starts first."""
    if isinstance(table, RepeatedTable):
        return taken(table.table, table.rows[rows])
    if not sparse.issparse(table):
        return np.ascontiguousarray(table[rows])
    starts, sizes = table.indptr[rows].astype(np.int64), np.diff(table.indptr)[rows].astype(np.int64)
    ends = np.cumsum(sizes)
    entries = np.arange(sizes.sum()) + np.repeat(starts - (ends - sizes), sizes)
    indptr = np.append(0, ends).astype(table.indices.dtype)
    return sparse.csr_array((table.data[entries], table.indices[entries], indptr), shape=(len(rows), table.shape[1]))


def arrays_of(part: Any) -> list[np.ndarray]:
    """The arrays that a table is made of."""
    if isinstance(part, RepeatedTable):
        return [part.rows, *arrays_of(part.table)]
    return [part.indptr, part.indices, part.data] if sparse.issparse(part) else [part]


def _map_of(array: Any) -> np.memmap | None:
    """The map of a file that an array looks at."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return array if isinstance(array, np.memmap) and array.filename is not None else None


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array lies in a file as it is."""
    return not array.size or (_map_of(array) is not None and bool(array.flags.c_contiguous))


class RepeatedTable(NamedTuple):
    """Rows of a table, some of them several times, which are copied where they are read."""

    table: Any
    rows: np.ndarray

    @classmethod
    def of(cls, table: Any, rows: np.ndarray) -> RepeatedTable:
        return cls(table.table, table.rows[rows]) if isinstance(table, RepeatedTable) else cls(table, rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.table.shape[1]


class MappedTable(NamedTuple):
    """A table that is mapped from files: for each of its arrays the file, type, offset and shape."""

    arrays: tuple[tuple[Any, ...], ...]
    shape: tuple[int, int]

    @classmethod
    def of_table(cls, part: Any) -> Any:
        """How to map a table again; the table itself if not all of it is mapped."""
        found = []
        for array in arrays_of(part) if isinstance(part, np.ndarray) or sparse.issparse(part) else [None]:
            origin = _map_of(array)
            if array is None or origin is None or origin.filename is None or not array.flags.c_contiguous:
                return part
            apart = array.__array_interface__["data"][0] - origin.__array_interface__["data"][0]
            found.append((str(real_path(str(origin.filename))), array.dtype.str, origin.offset + apart, array.shape))
        return cls(tuple(found), part.shape)

    def table(self) -> Any:
        """The table, mapped here."""
        try:
            arrays = [
                np.asarray(np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=shape))
                for file, dtype, offset, shape in self.arrays
            ]
        except (OSError, ValueError) as error:
            raise LatentiaError(
                f"{self.arrays[0][0]}: cannot be read here ({error}). Workers need the data under the same path."
            ) from error
        if len(arrays) == 1:
            return arrays[0]
        table = sparse.csr_array(self.shape, dtype=arrays[2].dtype)
        table.indptr, table.indices, table.data = arrays
        return table
