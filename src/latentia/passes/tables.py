"""Tables in one form: two dimensions, numeric types that statistics can sum, sparse ones in CSR format; and pieces of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._frames import table_of
from ..exceptions import LatentiaError
from ..system.scratch import real_path


def as_table(part: Any, number: int | str, names: bool = False) -> Any:
    """Return a table as an ndarray or csr_array with two dimensions; columns of a data frame must be numeric.

    ``number`` is the part's number, or its name, for messages. ``names`` allows one column of strings: symbols of sequences.
    """
    place, part = number if isinstance(number, str) else f"Part {number}", table_of(part)
    if sparse.issparse(part):
        if part.ndim != 2:
            raise LatentiaError(f"{place} has {part.ndim} dimensions; expected a table of rows and columns.")
        _check_type(part.dtype, place)
        return _to_numeric(canonical(part, place), place)  # in this order: SciPy changes matrices that it casts
    if hasattr(part, "columns") and hasattr(part, "dtypes"):
        for name, dtype in zip(part.columns, part.dtypes, strict=True):
            if getattr(dtype, "kind", "f") in "OUSM":
                raise LatentiaError(f"{place}: column {name!r} has dtype {dtype}; expected numbers. Drop or encode it.")
        if hasattr(part, "sparse") and all(str(d).startswith("Sparse") for d in part.dtypes):
            return _to_numeric(canonical(part.sparse.to_coo(), place), place)
        nullable = any(
            not isinstance(dtype, np.dtype) for dtype in part.dtypes
        )  # for which None stands where a value is missing
        part = part.to_numpy(dtype=np.float64, na_value=np.nan) if nullable else part.to_numpy()
    try:
        table = np.asarray(fill_masked(part))
    except ValueError as error:  # rows of different lengths
        raise LatentiaError(f"{place}: expected a table of rows and columns ({error}).") from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise LatentiaError(f"{place} has {table.ndim} dimensions; expected a table of rows and columns.")
    return table if names and table.dtype.kind == "U" and table.shape[1] == 1 else _to_numeric(table, place)


def _to_numeric(table: Any, place: str) -> Any:
    """Return the table with a dtype that statistics can sum: bool, integer, or floats of 4 or 8 bytes."""
    _check_type(table.dtype, place)
    is_plain = table.dtype.kind != "f" or table.dtype.itemsize in (4, 8)
    dtype = table.dtype.newbyteorder("=") if is_plain else np.dtype(np.float64)  # compiled kernels swap no bytes
    with np.errstate(over="ignore"):  # infinite values are refused where numbers are checked
        return table if table.dtype == dtype else table.astype(dtype)


def fill_masked(table: Any) -> Any:
    """Return a masked array as floats with NaN for masked values, and any other table as it is."""
    return np.ma.filled(table.astype(np.float64), np.nan) if np.ma.is_masked(table) else table


def _check_type(dtype: np.dtype, place: str) -> None:
    if dtype.kind not in "biuf":
        raise LatentiaError(f"{place} has dtype {dtype}; expected numbers. Drop or encode the other columns.")


def canonical(table: Any, name: str = "The sparse matrix") -> sparse.csr_array:
    """Return a sparse matrix in canonical form: CSR, columns ascending, each entry once, no explicit zeros.

    So equal matrices give the same bits, however they are stored. The input is not changed, and shares its arrays with the
    result where it has this form already. Tables of caches, which are mapped from files, have this form.

    Raises
    ------
    LatentiaError
        If its arrays contradict each other.
    """
    if table.format == "csr" and all(is_mapped(array) for array in list_arrays(table)):
        return table if isinstance(table, sparse.csr_array) else sparse.csr_array(table)
    csr = sparse.csr_array(check_arrays(table, name))
    kind = np.int32 if max(*csr.shape, csr.nnz) < 2**31 else np.int64
    csr.indices, csr.indptr = (places.astype(kind, copy=False) for places in (csr.indices, csr.indptr))
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if not csr.data.all():
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def check_arrays(table: Any, name: str) -> Any:
    """Return a sparse matrix on the same arrays after a check, for compiled code would read and write beyond wrong indices."""
    try:
        if table.format in ("csr", "csc"):  # a new matrix has none of the flags of the old one, and leaves it unchanged
            sparse_class = sparse.csr_array if table.format == "csr" else sparse.csc_array
            table = sparse_class((table.data, table.indices, table.indptr), shape=table.shape)
        elif table.format == "coo":
            table = sparse.coo_array((table.data, table.coords), shape=table.shape)
        if hasattr(table, "check_format"):
            table.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise LatentiaError(
            f"{name} is damaged: {error}. Build it again, such as with scipy.sparse.csr_array."
        ) from error
    return table


def slice_rows(table: Any, start: int, stop: int) -> Any:
    """Return rows start to stop, as a view where possible: SciPy's slicing copies the entries.

    A dense piece is C-contiguous, whatever the table's layout, on which the bits of products would depend.
    """
    if isinstance(table, RowView):
        return take_rows(table.table, table.rows[start:stop])
    if not sparse.issparse(table):
        return np.ascontiguousarray(table[start:stop])
    lo, hi = int(table.indptr[start]), int(table.indptr[stop])
    indptr = (table.indptr[start : stop + 1] - lo).astype(table.indices.dtype, copy=False)
    rows = sparse.csr_array((stop - start, table.shape[1]), dtype=table.dtype)
    rows.data, rows.indices, rows.indptr = table.data[lo:hi], table.indices[lo:hi], indptr
    return rows


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Return a copy of some rows. SciPy would first convert all indices to the dtype of the row starts."""
    if isinstance(table, RowView):
        return take_rows(table.table, table.rows[rows])
    if not sparse.issparse(table):
        return np.ascontiguousarray(table[rows])
    starts, sizes = table.indptr[rows].astype(np.int64), np.diff(table.indptr)[rows].astype(np.int64)
    ends = np.cumsum(sizes)
    entries = np.arange(sizes.sum()) + np.repeat(starts - (ends - sizes), sizes)
    indptr = np.append(0, ends).astype(table.indices.dtype)
    return sparse.csr_array((table.data[entries], table.indices[entries], indptr), shape=(len(rows), table.shape[1]))


def list_arrays(part: Any) -> list[np.ndarray]:
    """Return the arrays of a table."""
    if isinstance(part, RowView):
        return [part.rows, *list_arrays(part.table)]
    return [part.indptr, part.indices, part.data] if sparse.issparse(part) else [part]


def _find_map(array: Any) -> np.memmap | None:
    """Return the file map that an array is a view of; None for arrays in memory."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return array if isinstance(array, np.memmap) and array.filename is not None else None


def is_mapped(array: np.ndarray) -> bool:
    """Return True for a contiguous array that is mapped from a file, and for an empty one."""
    return not array.size or (_find_map(array) is not None and bool(array.flags.c_contiguous))


class RowView(NamedTuple):
    """Rows of a table, some of them several times, copied when they are read."""

    table: Any
    rows: np.ndarray

    @classmethod
    def from_table(cls, table: Any, rows: np.ndarray) -> RowView:
        return cls(table.table, table.rows[rows]) if isinstance(table, RowView) else cls(table, rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.table.shape[1]


class TableLocation(NamedTuple):
    """Location of a table that is mapped from files: for each of its arrays the file, dtype, offset and shape."""

    arrays: tuple[tuple[Any, ...], ...]
    shape: tuple[int, int]

    @classmethod
    def locate(cls, part: Any) -> Any:
        """Return the location of a mapped table; the table itself if any of its arrays is in memory."""
        locations = []
        for array in list_arrays(part) if isinstance(part, np.ndarray) or sparse.issparse(part) else [None]:
            origin = _find_map(array)
            if array is None or origin is None or origin.filename is None or not array.flags.c_contiguous:
                return part
            distance = array.__array_interface__["data"][0] - origin.__array_interface__["data"][0]
            locations.append(
                (str(real_path(str(origin.filename))), array.dtype.str, origin.offset + distance, array.shape)
            )
        return cls(tuple(locations), part.shape)

    def table(self) -> Any:
        """Map the table in this process."""
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
