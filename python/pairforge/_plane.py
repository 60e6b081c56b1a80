"""The Fast Multipole Method in two dimensions."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays, _pairforge
from ._errors import InputError
from ._fmm import NATIVE, TOLERANCE, Progress
from ._kernel import as_kernel


class Result2:
    """The results of a run in two dimensions, at the targets in their order; of k sets of strengths with an axis of k before.

    Of the kernel "log" `potential` is the sum of q log |z_i - z_j| and `gradient` (n, 2) its gradient; of "harmonic" `field` is the
    complex sum of q / (z_j - z_i). What a kernel does not have is None.
    """

    def __init__(self, potential: Any, gradient: Any, field: Any, report: Any = None) -> None:
        self.potential = potential
        self.gradient = gradient
        self.field = field
        self._report = report

    @cached_property
    def stats(self) -> dict[str, Any]:
        """The report of the run."""
        return {} if self._report is None else dict(json.loads(self._report.json()))


class Plan2:
    """An FMM for points of the plane at fixed positions, (n, 2) or (2, n) or complex (n,), which serves many sets of strengths."""

    def __init__(
        self,
        x: Any,
        tol: float | None = None,
        targets: Any = None,
        kernel: str = "log",
        backend: str = "cpu",
        *,
        order: int | None = None,
        theta: float | None = None,
        leaf: int | None = None,
        precision: str | None = None,
        p2p: Any = None,
        check: int | None = None,
        seed: int = 1,
        layout: str | None = None,
    ) -> None:
        if tol is None and order is None and backend in NATIVE[:1]:
            tol = TOLERANCE
        options = {
            "tol": tol,
            "order": order,
            "theta": theta,
            "leaf": leaf,
            "precision": precision,
            "kernel": kernel,
            "check": check,
            "seed": seed,
            "backend": backend,
            "p2p": None if p2p is None else as_kernel(p2p)._handle,
        }
        self._kernel, self._layout, self._has_targets = kernel, layout, targets is not None
        self._plan = _pairforge.Plan2(*self._points(x, targets), options)

    def _points(self, x: Any, targets: Any) -> tuple[Any, Any]:
        sources = points("x", x, self._layout)
        self._n = len(sources)
        return sources, None if targets is None else points("targets", targets, self._layout)

    def update(self, x: Any, targets: Any = None) -> None:
        """Takes other positions, as many or not."""
        if self._has_targets != (targets is not None):
            raise InputError("give `targets` where the plan has some, and leave them out where it has none")
        self._plan.update(*self._points(x, targets))

    def run(self, q: Any, *, progress: Progress | None = None) -> Result2:
        """The field of strengths `q`, (n,) or (k, n), real, or for the kernel "harmonic" complex."""
        strengths, many = parts(q, self._n, self._kernel)
        fields, report = self._plan.run(strengths, progress)
        return result(fields, many, self._kernel, report)


def points(name: str, given: Any, layout: str | None) -> npt.NDArray[np.float64]:
    array = np.asarray(given) if isinstance(given, (list, tuple)) else given
    if getattr(getattr(array, "dtype", None), "kind", "") == "c":
        if array.ndim != 1:
            raise InputError(f"`{name}` has the shape {array.shape}; complex points are (n,)")
        return np.ascontiguousarray(array, np.complex128).view(np.float64).reshape(-1, 2)
    return _arrays.rows(name, array, 2, layout)


def parts(q: Any, n: int, kernel: str) -> tuple[list[tuple[Any, Any]], bool]:
    """Strengths as contiguous columns of real parts and, where there are some, imaginary ones."""
    strengths, many = _arrays.sets("q", q, n, complex_too=True)
    if any(of.dtype.kind == "c" for of in strengths):
        if kernel == "log":
            raise InputError("`q` is complex; strengths of the kernel \"log\" are real, and complex ones two sets of these")
        return [(np.ascontiguousarray(of.real), np.ascontiguousarray(of.imag)) for of in strengths], many
    return [(of, None) for of in strengths], many


def result(fields: list[Any], many: bool, kernel: str, report: Any) -> Result2:
    if not many:
        potential, a, b = fields[0]
    else:
        potential, a, b = (np.stack(of) for of in zip(*fields)) if fields else (np.empty((0, 0)),) * 3
    if kernel == "log":
        return Result2(potential, np.stack([a, b], axis=-1), None, report)
    return Result2(None, None, a + 1j * b, report)


def fmm2(
    x: Any,
    q: Any,
    tol: float | None = None,
    targets: Any = None,
    kernel: str = "log",
    backend: str = "cpu",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Result2:
    """Sums q_j log |z_i - z_j| ("log") or q_j / (z_j - z_i) ("harmonic") over all sources at every target, to a relative error of `tol`.

    Further options are those of `Plan2`.
    """
    return Plan2(x, tol, targets, kernel, backend, **options).run(q, progress=progress)


def direct2(
    x: Any, q: Any, targets: Any = None, kernel: str = "log", *, layout: str | None = None, progress: Progress | None = None
) -> Result2:
    """The same by a sum over all pairs in float64."""
    sources = points("x", x, layout)
    places = None if targets is None else points("targets", targets, layout)
    strengths, many = parts(q, len(sources), kernel)
    return result(_pairforge.direct2(sources, places, strengths, kernel, progress), many, kernel, None)
