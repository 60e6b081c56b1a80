"""The Fast Multipole Method for arrays on a GPU, which stay there."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from . import _pairforge
from ._errors import InputError
from ._fmm import periodic_box
from ._kernel import Kernel, as_kernel
from ._pairforge import DeviceArray

#: `kDLCUDA` and `kDLCUDAManaged` of DLPack, and `kDLFloat`.
ON_CUDA = (2, 13)
FLOAT = 2

#: Numbers on a GPU: the address of the first, how many, the stride in numbers, the bytes of one, and the GPU's number or None.
Column = tuple[int, int, int, int, int | None]


class Described(NamedTuple):
    """An array on a GPU by its address, its shape, its strides in numbers, and the bytes of a number."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    bytes: int
    device: int | None
    read_only: bool
    #: Holds the memory.
    owner: Any

    def column(self, *at: int | None) -> Column:
        """The numbers along the axis that is None, at places along the others."""
        offset = sum(k * stride for k, stride in zip(at, self.strides) if k is not None)
        axis = at.index(None)
        address = self.address + offset * self.bytes if self.shape[axis] else self.address
        return address, self.shape[axis], self.strides[axis], self.bytes, self.device

    def columns(self, *before: int) -> tuple[Column, Column, Column]:
        """The columns of (..., n, 3)."""
        x, y, z = self.all_columns(*before)
        return x, y, z

    def all_columns(self, *before: int) -> tuple[Column, ...]:
        """The columns of (..., n, m)."""
        return tuple(self.column(*before, None, a) for a in range(self.shape[-1]))


def described(name: str, given: Any) -> Described:
    """An array on a GPU, as its `__cuda_array_interface__` or DLPack describes it."""
    try:
        interface = getattr(given, "__cuda_array_interface__", None)
    except Exception as why:
        # As a tensor that needs its gradient says.
        raise InputError(f"`{name}` gives no memory: {why}") from None
    if interface is not None:
        return _of_interface(name, given, interface)
    if hasattr(given, "__dlpack__") and hasattr(given, "__dlpack_device__"):
        return _of_dlpack(name, given)
    raise InputError(_on_host(name))


def _on_host(name: str) -> str:
    return (
        f"`{name}` is no array on a GPU; give one with `__cuda_array_interface__` or DLPack, or take `Plan` for arrays of the host"
    )


def _of_interface(name: str, given: Any, interface: Any) -> Described:
    try:
        shape, typestr = tuple(int(n) for n in interface["shape"]), str(interface["typestr"])
        address, read_only = interface["data"]
        strides, mask = interface.get("strides"), interface.get("mask")
        bytes_of = _bytes(name, np.dtype(typestr))
        if strides is not None:
            strides = tuple(int(stride) for stride in strides)
    except InputError:
        raise
    except Exception as why:
        raise InputError(f"`{name}` has a `__cuda_array_interface__` that does not follow its version 3: {why!r}") from None
    if mask is not None:
        raise InputError(f"`{name}` has a mask; fill what it hides")
    if strides is not None and any(stride % bytes_of for stride in strides):
        raise InputError(f"`{name}` has the strides {strides} in bytes, which are no multiples of {bytes_of}")
    in_numbers = _packed(shape) if strides is None else tuple(stride // bytes_of for stride in strides)
    return Described(int(address or 0), shape, in_numbers, bytes_of, None, bool(read_only), given)


def _of_dlpack(name: str, given: Any) -> Described:
    kind, _ = given.__dlpack_device__()
    if kind not in ON_CUDA:
        raise InputError(_on_host(name))
    # A stream of -1: what has to be waited for is waited for by the plan.
    try:
        try:
            capsule = given.__dlpack__(stream=-1, max_version=(1, 0))
        except TypeError:
            capsule = given.__dlpack__(stream=-1)
    except Exception as why:
        raise InputError(f"`{name}` gives no memory by DLPack: {why}") from None
    return _of_capsule(name, capsule)


def _of_capsule(name: str, capsule: Any) -> Described:
    try:
        view = _pairforge.dlpack_view(capsule)
    except InputError as why:
        raise InputError(f"`{name}` is not understood: {why}") from None
    code, bits, lanes = view["type"]
    if code != FLOAT or bits not in (32, 64) or lanes != 1:
        raise InputError(f"`{name}` has other numbers than float32 or float64; convert them")
    shape = tuple(view["shape"])
    strides = _packed(shape) if view["strides"] is None else tuple(view["strides"])
    kind, device = view["device"]
    own = device if kind == ON_CUDA[0] else None
    return Described(view["address"], shape, strides, bits // 8, own, view["read_only"], capsule)


def _bytes(name: str, dtype: np.dtype[Any]) -> int:
    if dtype not in (np.dtype("<f4"), np.dtype("<f8")):
        raise InputError(f"`{name}` has values of the type {dtype}; give float32 or float64")
    return dtype.itemsize


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[k + 1 :], dtype=int)) for k in range(len(shape)))


def rows(name: str, given: Any, layout: str | None) -> Described:
    """Points as (n, 3), from an array of that shape or of its transpose."""
    array = described(name, given)
    shape = array.shape
    if len(shape) == 1 and shape[0] == 0:
        return array._replace(shape=(0, 3), strides=(3, 1))
    if len(shape) != 2 or 3 not in shape:
        raise InputError(f"`{name}` has the shape {shape}; give (n, 3) or (3, n)")
    if layout not in (None, "rows", "columns"):
        raise InputError(f'`layout` is "rows" for (n, 3) or "columns" for (3, n), not {layout!r}')
    if layout is None:
        if shape == (3, 3):
            raise InputError(
                f"`{name}` has the shape (3, 3), which may be 3 points by rows or by columns; "
                'say layout="rows" or layout="columns"'
            )
        layout = "rows" if shape[1] == 3 else "columns"
    if shape[1 if layout == "rows" else 0] != 3:
        raise InputError(f"`{name}` has the shape {shape}, which is no layout of 3 {layout}")
    return array if layout == "rows" else array._replace(shape=shape[::-1], strides=array.strides[::-1])


def outputs(out: Any, wanted: dict[str, tuple[int, ...]]) -> dict[str, Described]:
    """The caller's arrays for results: a dictionary by their names, or a tuple in their order."""
    given = out if isinstance(out, dict) else dict(zip(wanted, out if isinstance(out, (tuple, list)) else (out,)))
    found = {}
    for name, array in given.items():
        if name not in wanted:
            raise InputError(f"`out` has an array for `{name}`; the results here are {', '.join(wanted)}")
        if array is None:
            continue
        what = f"out for {name}"
        room = described(what, array)
        if room.shape != wanted[name]:
            raise InputError(f"`{what}` has the shape {room.shape} where {wanted[name]} is needed")
        if room.read_only:
            raise InputError(f"`{what}` is read-only")
        if any(n > 1 and stride == 0 for n, stride in zip(room.shape, room.strides)):
            raise InputError(f"`{what}` has several elements in one place")
        found[name] = room
    return found


def stream_of(stream: Any) -> int | None:
    """The handle of a stream: a number, or an object of CuPy, PyTorch, Numba or cuda.core."""
    if stream is None:
        return None
    if isinstance(stream, int) and not isinstance(stream, bool):
        handle = stream
    elif hasattr(stream, "__cuda_stream__"):
        handle = int(stream.__cuda_stream__()[1])
    else:
        for name in ("cuda_stream", "ptr", "handle"):
            found = getattr(stream, name, None)
            if found is not None:
                handle = int(getattr(found, "value", found) or 0)
                break
        else:
            raise InputError(f"`stream` is a CUDA stream or its handle, not {stream!r}")
    if handle < 0:
        raise InputError(f"`stream` is the handle of a CUDA stream, not {handle}")
    return handle


class GpuResult:
    """Potential, gradient and second derivatives (xx, xy, xz, yy, yz, zz) at the targets, in their order, on the GPU.

    They are (m,), (m, 3) and (m, 6), with an axis of k before for k sets. What was not asked for is None.
    """

    def __init__(self, potential: Any, gradient: Any, hessian: Any = None, report: Any = None) -> None:
        self.potential = potential
        self.gradient = gradient
        self.hessian = hessian
        self._report = report

    @cached_property
    def stats(self) -> dict[str, Any]:
        """The report of the last set's run: the keys of the command's `--json`."""
        return {} if self._report is None else dict(json.loads(self._report.json()))


class GpuPlan:
    """An FMM for points on a GPU: `x`, charges and results are arrays there, and nothing of them goes through the host.

    Arrays are those of any library with `__cuda_array_interface__` or DLPack, float32 or float64, (n, 3) or (3, n), with any strides. The
    plan has copies of the points from one `update` to the next. Where the GPU does not run all stages (with a `tol`, for one) the plan
    is refused, unless `through_host` lets it copy to the host and back. `stream` orders a call within a stream of the caller's;
    without one it waits for all work on the GPU.
    """

    def __init__(
        self,
        x: Any,
        targets: Any = None,
        gradient: bool = True,
        hessian: bool = False,
        *,
        order: int | None = None,
        precision: str | None = None,
        tol: float | None = None,
        theta: float | None = None,
        leaf: int | None = None,
        eps: float = 0.0,
        periodic: Any = None,
        kernel: Any = None,
        params: dict[str, Any] | None = None,
        check: int | None = None,
        through_host: bool = False,
        stream: Any = None,
        layout: str | None = None,
    ) -> None:
        if isinstance(kernel, Kernel) or kernel is not None:
            kernel = as_kernel(kernel, params)._handle
        elif params:
            raise InputError("`params` are the parameters of `kernel`, and there is none")
        options = {
            "tol": tol,
            "order": order,
            "theta": theta,
            "leaf": leaf,
            "precision": precision,
            "eps": eps,
            "periodic": periodic_box(periodic),
            "kernel": kernel,
            "check": check,
            "hessian": bool(hessian),
        }
        self._layout = layout
        self._gradient, self._hessian = bool(gradient), bool(hessian)
        self._bytes = 4 if precision == "f32" else 8
        self._has_targets = targets is not None
        sources, places = self._points(x, targets)
        there = None if places is None else places.columns()
        self._plan = _pairforge.GpuPlan(sources.columns(), there, options, bool(through_host), stream_of(stream))

    def _points(self, x: Any, targets: Any) -> tuple[Described, Described | None]:
        sources = rows("x", x, self._layout)
        places = None if targets is None else rows("targets", targets, self._layout)
        self._n = sources.shape[0]
        self._m = self._n if places is None else places.shape[0]
        return sources, places

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return self._plan.device

    def update(self, x: Any, targets: Any = None, *, stream: Any = None) -> None:
        """Takes other positions, as many or not."""
        if self._has_targets != (targets is not None):
            raise InputError("give `targets` where the plan has some, and leave them out where it has none")
        sources, places = self._points(x, targets)
        self._plan.update(sources.columns(), None if places is None else places.columns(), stream_of(stream))

    def run(self, q: Any = None, dipoles: Any = None, *, out: Any = None, stream: Any = None) -> GpuResult:
        """The field of charges `q`, (n,) or (k, n) for k sets, and of dipole moments (n, 3) or (k, n, 3), or of either alone.

        It is a `GpuResult` whose arrays are on the GPU: new `DeviceArray`s of the plan's precision, or those in `out` by name or in
        the order potential, gradient, hessian.
        """
        charges, moments, many = self._sources(q, dipoles)
        m = self._m
        wanted: dict[str, tuple[int, ...]] = {"potential": (*many, m)}
        if self._gradient:
            wanted["gradient"] = (*many, m, 3)
        if self._hessian:
            wanted["hessian"] = (*many, m, 6)
        results: dict[str, Any] = {}
        rooms: dict[str, Described] = {}
        if out is None:
            results = {name: self._plan.empty(list(shape), self._bytes) for name, shape in wanted.items()}
            rooms = {name: described(name, array) for name, array in results.items()}
        else:
            rooms = outputs(out, wanted)
            given = out if isinstance(out, dict) else dict(zip(wanted, out if isinstance(out, (tuple, list)) else (out,)))
            results = {name: given[name] for name in rooms}
        handle, report = stream_of(stream), None
        for before in [(k,) for k in range(many[0])] if many else [()]:
            potential = rooms["potential"].column(*before, None) if "potential" in rooms else None
            gradient = rooms["gradient"].columns(*before) if "gradient" in rooms else None
            hessian = rooms["hessian"].all_columns(*before) if "hessian" in rooms else None
            # Charges or moments of one set alone are those of all.
            own = None if charges is None else charges.column(*before[: len(charges.shape) - 1], None)
            along = None if moments is None else moments.columns(*before[: len(moments.shape) - 2])
            report = self._plan.run((own, along), (potential, gradient, hessian), handle)
        return GpuResult(results.get("potential"), results.get("gradient"), results.get("hessian"), report)

    def _sources(self, q: Any, dipoles: Any) -> tuple[Described | None, Described | None, tuple[int, ...]]:
        """Charges, moments, and how many sets there are if they are several."""
        n = self._n
        charges = None if q is None else described("q", q)
        moments = None if dipoles is None else described("dipoles", dipoles)
        if charges is None and moments is None:
            raise InputError("give charges `q`, or `dipoles`")
        sets: set[tuple[int, ...]] = set()
        if charges is not None:
            if len(charges.shape) not in (1, 2) or charges.shape[-1] != n:
                raise InputError(f"`q` has the shape {charges.shape}; give ({n},) or (k, {n}), for the {n} sources")
            sets.add(charges.shape[:-1])
        if moments is not None:
            if len(moments.shape) not in (2, 3) or moments.shape[-2:] != (n, 3):
                raise InputError(f"`dipoles` has the shape {moments.shape}; give ({n}, 3) or (k, {n}, 3)")
            sets.add(moments.shape[:-2])
        many = sorted(of for of in sets if of)
        if len(many) > 1:
            raise InputError("`q` and `dipoles` have other numbers of sets; give as many, or one of either")
        return charges, moments, many[0] if many else ()


__all__ = ["DeviceArray", "GpuPlan", "GpuResult"]
