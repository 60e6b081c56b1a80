"""The Laplace calls of fmm2dpy 0.0.5: `rfmm2d`, `lfmm2d`, `cfmm2d`, `r2ddir`, `l2ddir`, `c2ddir` and `comperr`.

With z and z_j the points as complex numbers, w = z - z_j, d_j dipole strengths and v_j = (vx, vy) their directions:

    rfmm2d, lfmm2d (real, complex c and d):  u(x) = sum of c_j log |w| - d_j v_j . w / |w|^2
    cfmm2d (complex):                        u(z) = sum of c_j log |w| + d_j / w, with derivatives c_j / w - d_j / w^2 and so on

Arrays have the dimension first: sources (2, n), charges and dipstr (n,) or (nd, n), dipvec (2, n) or (nd, 2, n). Second
derivatives are xx, xy, yy. `eps` bounds the relative error. Other equations raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import _pairforge
from .._errors import InputError
from .._plane import Plan2, direct2
from ._common import Array, Output, absent, asked, compare, densities, level, places, put, tolerance, vectors

__all__ = [
    "Output",
    "bh2ddir",
    "bhfmm2d",
    "c2ddir",
    "cfmm2d",
    "comperr",
    "h2ddir",
    "hfmm2d",
    "l2ddir",
    "lfmm2d",
    "r2ddir",
    "rfmm2d",
    "st2ddir",
    "stfmm2d",
]

#: Sums at some targets: of real strengths by the kernel "log", of complex ones by "harmonic".
Summed = Callable[[str, Array, Array, Array], Any]

#: How they are computed, and the relative error that derivatives may have; None for sums over all pairs.
Way = tuple[Summed, float | None]

THRESHOLD = 1e-15


def _by_fmm(eps: float) -> Way:
    tol = tolerance(eps)
    return lambda kernel, x, at, q: Plan2(x, tol, at, kernel, layout="rows").run(q), tol


_BY_PAIRS: Way = (lambda kernel, x, at, q: direct2(x, q, at, kernel, layout="rows"), None)


class _Derivatives:
    """A potential with its first and second complex derivatives, for each set: those of Re F for real F, or of F itself."""

    def __init__(self, x: Array, at: Array, level: int, way: Way) -> None:
        self.x, self.at, self.level, (self.summed, self.tol) = x, at, level, way

    def powers(self, strengths: Array, power: int) -> Array:
        """Sums of the strengths over w to a power, for each set."""
        sets = [(np.ascontiguousarray(of.real), np.ascontiguousarray(of.imag)) for of in strengths]
        found = _pairforge.powers2(self.x, self.at, sets, power, self.tol)
        return np.stack([re + 1j * im for re, im in found])

    def charges(self, q: Array) -> tuple[Array, Array, Any]:
        """Of real charges: the sum of q log |w|, and the derivatives of q log w."""
        found = self.summed("log", self.x, self.at, q)
        first = found.gradient[..., 0] - 1j * found.gradient[..., 1]
        return found.potential, first, -self.powers(q, 2) if self.level > 2 else None

    def dipoles(self, strengths: Array) -> tuple[Array, Any, Any]:
        """Of complex strengths: the sum of strengths / w, and its derivatives."""
        found = -self.summed("harmonic", self.x, self.at, strengths).field
        first = -self.powers(strengths, 2) if self.level > 1 else None
        return found, first, 2 * self.powers(strengths, 3) if self.level > 2 else None


def _real(of: _Derivatives, q: Array | None, strengths: Array | None) -> tuple[Array, Any, Any]:
    """Potential, gradient and second derivatives of real charges, and of real dipoles as complex strengths d (vx + i vy)."""
    parts = []
    if q is not None:
        parts.append(of.charges(q))
    if strengths is not None:
        potential, first, second = of.dipoles(-strengths)
        parts.append((potential.real, first, second))
    pot = sum(part[0] for part in parts)
    first = sum(part[1] for part in parts) if of.level > 1 else None
    second = sum(part[2] for part in parts) if of.level > 2 else None
    grad = None if first is None else np.stack([first.real, -first.imag], axis=1)
    hess = None if second is None else np.stack([second.real, -second.imag, -second.real], axis=1)
    return np.asarray(pot), grad, hess


def _laplace(of: _Derivatives, q: Array | None, d: Array | None, v: Array | None) -> tuple[Array, Any, Any]:
    """The same of complex charges and dipole strengths, whose imaginary parts are sums of their own."""
    found = []
    for part in ("real", "imag"):
        own = None if q is None else getattr(q, part).copy()
        strengths = None if d is None or v is None else getattr(d, part) * (v[:, 0] + 1j * v[:, 1])
        found.append(_real(of, own, strengths))
    return _complex(*found)


def _complex(real: tuple[Any, Any, Any], imaginary: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    pot, first, second = (None if a is None else a + 1j * b for a, b in zip(real, imaginary))
    return pot, first, second


def _cauchy(of: _Derivatives, q: Array | None, d: Array | None) -> tuple[Array, Any, Any]:
    """Potential and complex derivatives of complex charges and dipole strengths."""
    parts: list[tuple[Any, Any, Any]] = []
    if q is not None:
        parts.append(_complex(of.charges(q.real.copy()), of.charges(q.imag.copy())))
    if d is not None:
        parts.append(of.dipoles(d))
    pot, first, second = (sum(part[k] for part in parts) if of.level > k else None for k in range(3))
    return np.asarray(pot), first, second


def _call(
    kind: str,
    way: Way,
    sources: Any,
    charges: Any,
    dipstr: Any,
    dipvec: Any,
    targets: Any,
    pg: int,
    pgt: int,
    nd: int,
) -> Output:
    out = Output()
    pg, pgt = asked(pg, pgt, targets)
    x = places("sources", sources, 2)
    n = len(x)
    number = np.float64 if kind == "real" else np.complex128
    q, d = densities("charges", charges, nd, n, number), densities("dipstr", dipstr, nd, n, number)
    v = None if kind == "cauchy" else vectors("dipvec", dipvec, nd, n, 2)
    if kind != "cauchy" and (d is None) != (v is None):
        raise InputError("give both `dipstr` and `dipvec`, or neither")
    if q is None and d is None:
        raise InputError("give `charges`, `dipstr`, or both")
    for suffix, wanted in (("", pg), ("targ", pgt)):
        if not wanted:
            continue
        at = x if suffix == "" else places("targets", targets, 2)
        of = _Derivatives(x, at, wanted, way)
        if kind == "cauchy":
            found = _cauchy(of, q, d)
        elif kind == "complex":
            found = _laplace(of, q, d, v)
        else:
            strengths = None if d is None or v is None else d * (v[:, 0] + 1j * v[:, 1])
            found = _real(of, q, strengths)
        put(out, suffix, wanted, nd, *found)
    return out


def rfmm2d(
    *,
    eps: float,
    sources: Any,
    charges: Any = None,
    dipstr: Any = None,
    dipvec: Any = None,
    targets: Any = None,
    pg: int = 0,
    pgt: int = 0,
    nd: int = 1,
) -> Output:
    """Laplace sums of real charges and dipoles by the FMM, at the sources (`pg`) and at the targets (`pgt`)."""
    return _call("real", _by_fmm(eps), sources, charges, dipstr, dipvec, targets, pg, pgt, nd)


def lfmm2d(
    *,
    eps: float,
    sources: Any,
    charges: Any = None,
    dipstr: Any = None,
    dipvec: Any = None,
    targets: Any = None,
    pg: int = 0,
    pgt: int = 0,
    nd: int = 1,
) -> Output:
    """The same of complex charges and dipole strengths."""
    return _call("complex", _by_fmm(eps), sources, charges, dipstr, dipvec, targets, pg, pgt, nd)


def cfmm2d(
    *,
    eps: float,
    sources: Any,
    charges: Any = None,
    dipstr: Any = None,
    targets: Any = None,
    pg: int = 0,
    pgt: int = 0,
    nd: int = 1,
) -> Output:
    """Cauchy sums of complex charges and dipole strengths, with complex derivatives."""
    return _call("cauchy", _by_fmm(eps), sources, charges, dipstr, None, targets, pg, pgt, nd)


def r2ddir(
    *,
    sources: Any,
    targets: Any,
    charges: Any = None,
    dipstr: Any = None,
    dipvec: Any = None,
    pgt: int = 0,
    nd: int = 1,
    thresh: float = 1e-16,
) -> Output:
    """`rfmm2d` at targets by sums over all pairs, of which those at the distance 0 are dropped."""
    _threshold("r2ddir", thresh)
    return _call("real", _BY_PAIRS, sources, charges, dipstr, dipvec, targets, 0, level("pgt", pgt), nd)


def l2ddir(
    *,
    sources: Any,
    targets: Any,
    charges: Any = None,
    dipstr: Any = None,
    dipvec: Any = None,
    pgt: int = 0,
    nd: int = 1,
    thresh: float = 1e-16,
) -> Output:
    """`lfmm2d` at targets by sums over all pairs."""
    _threshold("l2ddir", thresh)
    return _call("complex", _BY_PAIRS, sources, charges, dipstr, dipvec, targets, 0, level("pgt", pgt), nd)


def c2ddir(
    *,
    sources: Any,
    targets: Any,
    charges: Any = None,
    dipstr: Any = None,
    pgt: int = 0,
    nd: int = 1,
    thresh: float = 1e-16,
) -> Output:
    """`cfmm2d` at targets by sums over all pairs."""
    _threshold("c2ddir", thresh)
    return _call("cauchy", _BY_PAIRS, sources, charges, dipstr, None, targets, 0, level("pgt", pgt), nd)


def _threshold(name: str, thresh: float) -> None:
    if thresh > THRESHOLD:
        raise NotImplementedError(f"{name} drops pairs at the distance 0 alone here; leave `thresh` out")


def comperr(
    *, ntest: int, out: Any, outex: Any, pg: int = 0, pgt: int = 0, nd: int = 1, cauchy: int = 0, bh: int = 0
) -> float:
    """The relative L2 error of `out` beside `outex` at the first `ntest` points; of Cauchy potentials the real parts count."""
    return compare(ntest, out, outex, pg, pgt, real_potential=bool(cauchy))


hfmm2d = absent("hfmm2d", "Helmholtz potentials", "fmm2dpy")
h2ddir = absent("h2ddir", "Helmholtz potentials", "fmm2dpy")
bhfmm2d = absent("bhfmm2d", "biharmonic potentials", "fmm2dpy")
bh2ddir = absent("bh2ddir", "biharmonic potentials", "fmm2dpy")
stfmm2d = absent("stfmm2d", "Stokes flows", "fmm2dpy")
st2ddir = absent("st2ddir", "Stokes flows", "fmm2dpy")
