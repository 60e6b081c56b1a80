"""Arrays as callers have them, as the extension module takes them: rows of float64, and contiguous columns of float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._device import on_host
from ._errors import Error, InputError

Floats = npt.NDArray[np.float64]

#: Points up to which places in the tree are counted.
MOST = 2**31


def host_array(name: str, given: Any) -> npt.NDArray[Any]:
    """An array of any type of numbers, in the memory of the host."""
    try:
        return np.asarray(on_host(name, given))
    except Error:
        raise
    except Exception as why:
        raise InputError(f"`{name}` is no array of numbers: {why}") from None


def numbers(name: str, given: Any, complex_too: bool = False) -> npt.NDArray[Any]:
    """An array of float64 (or complex128), which is the caller's own where it is one already."""
    if type(given) is np.ndarray and given.dtype == np.float64:
        return given
    array = host_array(name, given)
    kind = array.dtype.kind
    if kind == "c" and complex_too:
        return array.astype(np.complex128, copy=False)
    if kind not in "iufb" or array.dtype.itemsize > 8 and kind == "f":
        what = "complex numbers" if kind == "c" else f"values of the type {array.dtype}"
        raise InputError(f"`{name}` has {what}; give float64, float32 or integers")
    return array.astype(np.float64, copy=False)


def rows(name: str, given: Any, dimensions: int = 3, layout: str | None = None) -> Floats:
    """Points as a view of shape (n, dimensions), of an array of that shape or of its transpose."""
    array = numbers(name, given)
    d = dimensions
    if array.dtype.names is None and array.ndim == 1 and array.size == 0:
        return np.empty((0, d))
    if array.ndim != 2 or d not in array.shape:
        raise InputError(f"`{name}` has the shape {array.shape}; give (n, {d}) or ({d}, n)")
    if layout not in (None, "rows", "columns"):
        raise InputError(f"`layout` is \"rows\" for (n, {d}) or \"columns\" for ({d}, n), not {layout!r}")
    if layout is None:
        if array.shape == (d, d):
            raise InputError(
                f"`{name}` has the shape ({d}, {d}), which may be {d} points by rows or by columns; "
                f'say layout="rows" or layout="columns"'
            )
        layout = "rows" if array.shape[1] == d else "columns"
    if array.shape[1 if layout == "rows" else 0] != d:
        raise InputError(f"`{name}` has the shape {array.shape}, which is no layout of {d} {layout}")
    array = array if layout == "rows" else array.T
    limited(name, array.shape[0])
    return array


def limited(name: str, n: int) -> None:
    """Refuses more points than can be sorted, or than there is memory for."""
    if n >= MOST:
        raise InputError(f"`{name}` has {n} points; at most {MOST - 1} can be sorted")
    if n > 10_000_000 and n * 200 > (free := free_memory()):
        raise InputError(f"`{name}` has {n} points, which take about {n * 200 >> 20} MB of the {free >> 20} MB that are free")


def free_memory() -> int:
    """Bytes of memory that the system can give, about."""
    try:
        with open("/proc/meminfo", encoding="ascii") as text:
            for line in text:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return 1 << 62


def sets(name: str, given: Any, n: int, complex_too: bool = False) -> tuple[list[npt.NDArray[Any]], bool]:
    """Charges of `n` sources, of one set (n,) or several (k, n), as contiguous columns; and whether they are of several."""
    array = numbers(name, given, complex_too)
    if array.ndim == 1 and array.shape[0] == n:
        return [array if array.flags.c_contiguous else np.ascontiguousarray(array)], False
    if array.ndim == 2 and array.shape[1] == n:
        return [np.ascontiguousarray(row) for row in array], True
    raise InputError(f"`{name}` has the shape {array.shape}; give ({n},) or (k, {n}), for the {n} sources")


def moments(name: str, given: Any, n: int, count: int | None) -> tuple[list[Floats], bool]:
    """Dipole moments (n, 3), or (k, n, 3) of `count` sets, as rows; and whether they are of several sets."""
    array = numbers(name, given)
    if array.ndim == 2 and array.shape == (n, 3):
        return [array] * (count or 1), False
    if array.ndim == 2 and array.shape == (3, n):
        return [array.T] * (count or 1), False
    if array.ndim == 3 and array.shape[1:] == (n, 3) and count in (None, array.shape[0]):
        return list(array), True
    raise InputError(f"`{name}` has the shape {array.shape}; give ({n}, 3), or (k, {n}, 3) for k sets of charges")


def outputs(out: Any, wanted: dict[str, tuple[int, ...]], inputs: dict[str, npt.NDArray[Any]]) -> dict[str, Floats]:
    """The caller's arrays for results: a dictionary by their names, or a tuple in their order."""
    given = out if isinstance(out, dict) else dict(zip(wanted, out if isinstance(out, (tuple, list)) else (out,)))
    for name, array in given.items():
        if name not in wanted:
            raise InputError(f"`out` has an array for `{name}`; the results here are {', '.join(wanted)}")
        if array is None:
            continue
        what = f"`out` for `{name}`"
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            raise InputError(f"{what} is no array of float64")
        if array.shape != wanted[name]:
            raise InputError(f"{what} has the shape {array.shape} where {wanted[name]} is needed")
        if not array.flags.writeable:
            raise InputError(f"{what} is read-only")
        if array.size > 1 and 0 in array.strides:
            raise InputError(f"{what} has several elements in one place")
        others = [(f"`out` for `{other}`", of) for other, of in given.items() if other != name and of is not None]
        for other, of in others + [(f"`{other}`", of) for other, of in inputs.items()]:
            if np.may_share_memory(array, of) and np.shares_memory(array, of):
                raise InputError(f"{what} overlaps {other}")
    return {name: array for name, array in given.items() if array is not None}
