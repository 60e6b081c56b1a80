"""The Fast Multipole Method in space."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Callable

import numpy as np

from . import _arrays, _pairforge
from ._arrays import Floats
from ._errors import InputError
from ._kernel import Kernel, as_kernel

Progress = Callable[[str, int, int], Any]

#: Backends that compute in native code, for which a tolerance is the usual wish.
NATIVE = ("cpu", "cuda")

TOLERANCE = 1e-6

#: Pairs up to which `fmm` sums all directly: that takes less time than to find an order for a tolerance, and is as exact as float64.
FEW = 2**21

#: Tolerances that such sums keep whatever the charges are.
LEAST = 1e-12


class Result:
    """Potential and derivatives at the targets, in their order.

    `potential` is (n,), `gradient` (n, 3), `hessian` (n, 6) with xx, xy, xz, yy, yz, zz; of k sets of charges they have an axis of
    k before. What was not asked for, or is not there, is None. `at_sources` has the same at the sources, where that was asked for.
    """

    def __init__(
        self,
        potential: Floats,
        gradient: Floats | None,
        hessian: Floats | None,
        report: Any = None,
        at_sources: Result | None = None,
    ) -> None:
        self.potential = potential
        self.gradient = gradient
        self.hessian = hessian
        self.at_sources = at_sources
        self._report = report

    @cached_property
    def stats(self) -> dict[str, Any]:
        """The report of the run: the keys of the command's `--json`."""
        return {} if self._report is None else dict(json.loads(self._report.json()))

    def __repr__(self) -> str:
        has = [name for name in ("gradient", "hessian", "at_sources") if getattr(self, name) is not None]
        return f"<pairforge.Result of {' by '.join(map(str, self.potential.shape))}: {', '.join(['potential', *has])}>"

    def __reduce__(self) -> Any:
        return _unpickled, (self.potential, self.gradient, self.hessian, self.stats, self.at_sources)


def _unpickled(potential: Floats, gradient: Any, hessian: Any, stats: dict[str, Any], at_sources: Any) -> Result:
    result = Result(potential, gradient, hessian, at_sources=at_sources)
    result.__dict__["stats"] = stats
    return result


def periodic_box(periodic: Any) -> tuple[float, tuple[bool, bool, bool]] | None:
    """The period and the axes along which it holds, from a length, or a length with axes such as "xy"."""
    if periodic is None or periodic is False:
        return None
    length, axes = periodic if isinstance(periodic, (tuple, list)) and len(periodic) == 2 else (periodic, "xyz")
    try:
        length = float(length)
    except (TypeError, ValueError):
        raise InputError(f'`periodic` is a length L, or (L, axes) with axes such as "xy", not {periodic!r}') from None
    if isinstance(axes, str):
        if not axes or any(axis not in "xyz" for axis in axes):
            raise InputError(f'`periodic` names its axes as in "xy" or "xyz", not {axes!r}')
        axes = [axis in axes for axis in "xyz"]
    if len(axes) != 3:
        raise InputError(f'`periodic` names its axes as in "xy", or by three booleans, not {axes!r}')
    return length, (bool(axes[0]), bool(axes[1]), bool(axes[2]))


class Plan:
    """An FMM for points at fixed positions, which serves many sets of charges, also from several threads at once.

    `x` are the sources, (n, 3) or (3, n); `targets` are where the field is wanted, if not at the sources. The first run with a
    tolerance finds order, precision and leaf size for its charges, and later runs keep them, also after `update`.
    """

    def __init__(
        self,
        x: Any,
        tol: float | None = None,
        targets: Any = None,
        gradient: bool = True,
        hessian: bool = False,
        periodic: Any = None,
        eps: float = 0.0,
        backend: str = "cpu",
        kernel: Any = None,
        *,
        params: dict[str, Any] | None = None,
        order: int | None = None,
        theta: float | None = None,
        leaf: int | None = None,
        expansion: str | None = None,
        precision: str | None = None,
        coincident: str | None = None,
        near_only: bool = False,
        check: int | None = None,
        seed: int = 1,
        gpus: int | None = None,
        at_sources: bool = False,
        layout: str | None = None,
        _once: bool = False,
    ) -> None:
        if tol is None and order is None and backend in NATIVE and not near_only:
            tol = TOLERANCE
        if isinstance(kernel, Kernel) or kernel is not None:
            kernel = as_kernel(kernel, params)._handle
        elif params:
            raise InputError("`params` are the parameters of `kernel`, and there is none")
        self._layout = layout
        self._gradient = bool(gradient)
        self._at_sources = bool(at_sources)
        self._has_targets = targets is not None
        if at_sources and targets is None:
            raise InputError("`at_sources` adds the field at the sources to that at `targets`, and there are none")
        options = {
            "tol": tol,
            "order": order,
            "theta": theta,
            "leaf": leaf,
            "expansion": expansion,
            "precision": precision,
            "coincident": coincident,
            "near_only": bool(near_only),
            "hessian": bool(hessian),
            "check": check,
            "seed": seed,
            "gpus": gpus,
            "backend": backend,
            "kernel": kernel,
            "periodic": periodic_box(periodic),
            "eps": eps,
        }
        sources, places = self._points(x, targets)
        own_choice = (order, theta, leaf, expansion, precision, kernel, options["periodic"])
        is_free = backend == "cpu" and not near_only and all(chosen is None for chosen in own_choice)
        pairs = len(sources) * len(sources if places is None else places)
        if _once and is_free and pairs <= FEW and isinstance(tol, (int, float)) and LEAST <= tol < 1:
            # The only cell is a leaf.
            options.update(tol=None, order=1, leaf=FEW)
        self._plan = _pairforge.Plan(sources, places, options)

    def _points(self, x: Any, targets: Any) -> tuple[Floats, Floats | None]:
        sources = _arrays.rows("x", x, 3, self._layout)
        self._n = len(sources)
        if targets is None:
            return sources, None
        places = _arrays.rows("targets", targets, 3, self._layout)
        self._m = len(places)
        if self._at_sources:
            places = np.concatenate([places, sources])
        return sources, places

    def update(self, x: Any, targets: Any = None) -> None:
        """Takes other positions, as many or not, and keeps what earlier runs have found for a tolerance."""
        if self._has_targets != (targets is not None):
            raise InputError("give `targets` where the plan has some, and leave them out where it has none")
        self._plan.update(*self._points(x, targets))

    def run(
        self,
        q: Any = None,
        dipoles: Any = None,
        *,
        out: Any = None,
        progress: Progress | None = None,
    ) -> Result:
        """The field of charges `q`, (n,) or (k, n) for k sets, and of dipole moments (n, 3), or of either alone.

        `out` are arrays of float64 for the results, by name or in the order potential, gradient, hessian. `progress` is called with
        the name of a stage and how much of how many steps of it is done, or zeros.
        """
        charges, many = (None, False) if q is None else _arrays.sets("q", q, self._n)
        moments = None
        if dipoles is not None:
            moments, of_many = _arrays.moments("dipoles", dipoles, self._n, None if charges is None else len(charges))
            many = many or of_many
            if charges is not None and len(charges) != len(moments):
                raise InputError(f"`q` has {len(charges)} sets and `dipoles` {len(moments)}; give as many, or one set of charges")
        elif charges is None:
            raise InputError("give charges `q`, or `dipoles`")
        if progress is not None and not callable(progress):
            raise InputError("`progress` is no function")
        fields, report = self._plan.run(charges, moments, progress)
        if many:
            fields = [_stacked(fields, self._m if self._has_targets else self._n)]
        result = self._result(fields[0], report)
        return result if out is None else self._written(result, out, {"q": q, "dipoles": dipoles})

    def _result(self, field: Any, report: Any) -> Result:
        potential, gradient, hessian = field
        if not self._gradient:
            gradient = None
        if not self._at_sources:
            return Result(potential, gradient, hessian, report)
        m, axis = self._m, potential.ndim - 1
        split: list[Any] = [
            np.split(of, [m], axis=axis) if of is not None else [None, None] for of in (potential, gradient, hessian)
        ]
        (p, p2), (g, g2), (h, h2) = split
        return Result(p, g, h, report, Result(p2, g2, h2, report))

    def _written(self, result: Result, out: Any, inputs: dict[str, Any]) -> Result:
        there = {name: getattr(result, name) for name in ("potential", "gradient", "hessian")}
        wanted = {name: of.shape for name, of in there.items() if of is not None}
        arrays = {name: of for name, of in inputs.items() if isinstance(of, np.ndarray)}
        for name, array in _arrays.outputs(out, wanted, arrays).items():
            np.copyto(array, there[name])
            setattr(result, name, array)
        return result


def _stacked(fields: list[Any], n: int) -> tuple[Any, Any, Any]:
    """The fields of several sets as one, with an axis for the sets before."""
    if not fields:
        return np.empty((0, n)), np.empty((0, n, 3)), None
    potential, gradient, hessian = zip(*fields)
    first = np.stack(gradient) if gradient[0] is not None else None
    second = np.stack(hessian) if hessian[0] is not None else None
    return np.stack(potential), first, second


def fmm(
    x: Any,
    q: Any = None,
    tol: float | None = None,
    targets: Any = None,
    gradient: bool = True,
    hessian: bool = False,
    dipoles: Any = None,
    periodic: Any = None,
    eps: float = 0.0,
    backend: str = "cpu",
    kernel: Any = None,
    *,
    out: Any = None,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Sums q / |x_i - x_j| over all sources j at every target i, with gradients with respect to x_i, to a relative error of `tol`.

    The tolerance is that of the gradient in the L2 norm; without one, and without an `order`, it is 1e-6. Further options are those
    of `Plan`, which also says what the arguments are.
    """
    plan = Plan(x, tol, targets, gradient, hessian, periodic, eps, backend, kernel, _once=True, **options)
    return plan.run(q, dipoles, out=out, progress=progress)


def direct(
    x: Any,
    q: Any = None,
    targets: Any = None,
    gradient: bool = True,
    hessian: bool = False,
    dipoles: Any = None,
    periodic: Any = None,
    eps: float = 0.0,
    *,
    layout: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """The same by a sum over all pairs in float64, or by an Ewald sum: the reference of every error."""
    sources = _arrays.rows("x", x, 3, layout)
    places = None if targets is None else _arrays.rows("targets", targets, 3, layout)
    n = len(sources)
    if q is None and dipoles is None:
        raise InputError("give charges `q`, or `dipoles`")
    charges, many = (None, False) if q is None else _arrays.sets("q", q, n)
    moments = None
    if dipoles is not None:
        moments, of_many = _arrays.moments("dipoles", dipoles, n, None if charges is None else len(charges))
        many = many or of_many
    fields = _pairforge.direct(
        sources, places, charges, moments, float(eps), bool(hessian), periodic_box(periodic), progress
    )
    potential, grad, second = _stacked(fields, n if places is None else len(places)) if many else fields[0]
    return Result(potential, grad if gradient else None, second)
