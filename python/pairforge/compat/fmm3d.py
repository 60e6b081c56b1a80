"""The Laplace calls of fmm3dpy 2.x: `lfmm3d`, `l3ddir` and `comperr`, with its shapes and its factor 1/(4 pi).

    u(x) = 1/(4 pi) sum of c_j / |x - x_j| + v_j . (x - x_j) / |x - x_j|^3

Arrays have the dimension first: sources (3, n), charges (n,) or (nd, n), dipvec (3, n) or (nd, 3, n). Second derivatives are in
the order xx, yy, zz, xy, xz, yz. `eps` bounds the relative error. Other equations raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import InputError
from .._fmm import Plan, direct
from ._common import Array, Output, absent, asked, compare, densities, level, places, put, tolerance, vectors

__all__ = ["Output", "comperr", "em3ddir", "emfmm3d", "h3ddir", "hfmm3d", "l3ddir", "lfmm3d", "st3ddir", "stfmm3d"]

FACTOR = 1 / (4 * np.pi)

#: Places of xx, yy, zz, xy, xz, yz among xx, xy, xz, yy, yz, zz.
SECOND = [0, 3, 5, 1, 2, 4]

#: Distances that `l3ddir` drops are those at which its own sums would be wrong; only 0 is wrong here.
THRESHOLD = 1e-15


def lfmm3d(
    *,
    eps: float,
    sources: Any,
    charges: Any = None,
    dipvec: Any = None,
    targets: Any = None,
    pg: int = 0,
    pgt: int = 0,
    nd: int = 1,
) -> Output:
    """Laplace sums by the FMM: at the sources where `pg` is not 0, at the targets where `pgt` is not 0."""
    out = Output()
    pg, pgt = asked(pg, pgt, targets)
    x = places("sources", sources, 3)
    q, moments = _given(charges, dipvec, nd, len(x))
    if pg == 0 and pgt == 0:
        return out
    at = places("targets", targets, 3) if pgt else None
    both = pg > 0 and pgt > 0
    plan = Plan(x, tolerance(eps), at, hessian=max(pg, pgt) > 2, at_sources=both, layout="rows")
    found = plan.run(q, moments)
    _put(out, "targ" if pgt else "", pgt or pg, nd, found)
    if both:
        _put(out, "", pg, nd, found.at_sources)
    return out


def l3ddir(
    *,
    sources: Any,
    targets: Any,
    charges: Any = None,
    dipvec: Any = None,
    pgt: int = 0,
    nd: int = 1,
    thresh: float = 1e-16,
) -> Output:
    """The same at targets by sums over all pairs, of which those at the distance 0 are dropped."""
    out = Output()
    pgt, _ = asked(level("pgt", pgt), 0, targets)
    x, at = places("sources", sources, 3), places("targets", targets, 3)
    q, moments = _given(charges, dipvec, nd, len(x))
    if thresh > THRESHOLD:
        raise NotImplementedError("l3ddir drops pairs at the distance 0 alone here; leave `thresh` out")
    if pgt:
        _put(out, "targ", pgt, nd, direct(x, q, at, hessian=pgt > 2, dipoles=moments, layout="rows"))
    return out


def _given(charges: Any, dipvec: Any, nd: int, n: int) -> tuple[Array | None, Array | None]:
    q, moments = densities("charges", charges, nd, n, np.float64), vectors("dipvec", dipvec, nd, n, 3)
    if q is None and moments is None:
        raise InputError("give `charges`, `dipvec`, or both")
    return q, None if moments is None else moments.transpose(0, 2, 1)


def _put(out: Output, suffix: str, wanted: int, nd: int, found: Any) -> None:
    grad = np.ascontiguousarray(found.gradient.transpose(0, 2, 1)) * FACTOR if wanted > 1 else None
    hess = found.hessian[..., SECOND].transpose(0, 2, 1) * FACTOR if wanted > 2 else None
    put(out, suffix, wanted, nd, found.potential * FACTOR, grad, hess)


def comperr(*, ntest: int, out: Any, outex: Any, pg: int = 0, pgt: int = 0, nd: int = 1) -> float:
    """The relative L2 error of `out` beside `outex` at the first `ntest` points."""
    return compare(ntest, out, outex, pg, pgt)


hfmm3d = absent("hfmm3d", "Helmholtz potentials", "fmm3dpy")
h3ddir = absent("h3ddir", "Helmholtz potentials", "fmm3dpy")
emfmm3d = absent("emfmm3d", "Maxwell fields", "fmm3dpy")
em3ddir = absent("em3ddir", "Maxwell fields", "fmm3dpy")
stfmm3d = absent("stfmm3d", "Stokes flows", "fmm3dpy")
st3ddir = absent("st3ddir", "Stokes flows", "fmm3dpy")
