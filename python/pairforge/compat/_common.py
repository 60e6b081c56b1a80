"""Parts that both libraries have in common: their arguments and results, dimension first, and the sets of densities before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._errors import InputError

Array = npt.NDArray[Any]


class Output:
    """The results of a call; those that were not asked for are None."""

    pot: Any = None
    grad: Any = None
    hess: Any = None
    pottarg: Any = None
    gradtarg: Any = None
    hesstarg: Any = None
    ier: int = 0


def tolerance(eps: float) -> float:
    """The bound of the gradient's error over all targets, for an `eps` that should hold for a few as well."""
    if not 0 < eps < 1:
        raise InputError(f"`eps` is the relative precision, above 0 and below 1, not {eps!r}")
    return max(eps / 4, min(eps, 1e-12))


def places(name: str, given: Any, dimensions: int) -> Array:
    """Points (dimensions, n) as rows (n, dimensions); one point may be (dimensions,)."""
    array = np.asarray(given, np.float64)
    if array.ndim == 1 and array.shape[0] == dimensions:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != dimensions:
        raise InputError(f"`{name}` has the shape {array.shape}; give ({dimensions}, n)")
    return array.T


def densities(name: str, given: Any, nd: int, n: int, dtype: Any) -> Array | None:
    """Densities (n,), or (nd, n) of several sets, always with an axis of sets."""
    if given is None:
        return None
    array = np.asarray(given)
    if array.dtype.kind == "c" and not np.issubdtype(dtype, np.complexfloating):
        raise InputError(f"`{name}` is complex, and this call takes real numbers")
    array = array.astype(dtype)
    if nd == 1 and array.size == n and array.ndim <= 2:
        return array.reshape(1, n)
    if array.shape != (nd, n):
        raise InputError(f"`{name}` has the shape {array.shape}; give ({n},)" + (f" or ({nd}, {n})" if nd > 1 else ""))
    return array


def vectors(name: str, given: Any, nd: int, n: int, dimensions: int) -> Array | None:
    """Vectors (dimensions, n), or (nd, dimensions, n) of several sets, always with an axis of sets."""
    if given is None:
        return None
    array = np.asarray(given, np.float64)
    if nd == 1 and array.size == dimensions * n:
        return array.reshape(1, dimensions, n)
    if array.shape != (nd, dimensions, n):
        wanted = f"({dimensions}, {n})" if nd == 1 else f"({nd}, {dimensions}, {n})"
        raise InputError(f"`{name}` has the shape {array.shape}; give {wanted}")
    return array


def level(name: str, given: int) -> int:
    """0 for nothing, 1 for potentials, 2 for gradients too, 3 for second derivatives too."""
    if given not in (0, 1, 2, 3):
        raise InputError(f"`{name}` is 0, 1, 2 or 3, not {given!r}")
    return int(given)


def asked(pg: int, pgt: int, targets: Any) -> tuple[int, int]:
    """The levels at sources and at targets."""
    pg, pgt = level("pg", pg), level("pgt", pgt)
    if pgt and targets is None:
        raise InputError("`pgt` asks for results at `targets`, and there are none")
    if pg == 0 and pgt == 0:
        print("nothing to compute: set pg or pgt to 1, 2 or 3")
    return pg, pgt


def put(out: Output, suffix: str, wanted: int, nd: int, pot: Array, grad: Any, hess: Any) -> None:
    """Sets the results of a level, each with an axis of sets where there are several."""
    for name, of, least in (("pot", pot, 1), ("grad", grad, 2), ("hess", hess, 3)):
        if wanted >= least:
            setattr(out, name + suffix, of[0] if nd == 1 else of)


def absent(name: str, what: str, library: str) -> Any:
    """A call that is not here, which says so."""

    def call(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name} computes {what}, which Pairforge does not; take {library} for it")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Not here: {what}."
    return call


def relative_error(pairs: list[tuple[Array, Array]]) -> float:
    """The relative L2 error over some results: pairs of what is there and of what is right."""
    wrong = sum(float(np.linalg.norm(a - b)) ** 2 for a, b in pairs)
    right = sum(float(np.linalg.norm(b)) ** 2 for _, b in pairs)
    return float(np.sqrt(wrong / right))


def first(array: Any, count: int, real: bool = False) -> Array:
    """The results at the first `count` points, as one column."""
    part = np.asarray(array)[..., :count]
    return (part.real if real else part).reshape(-1)


def compare(ntest: int, out: Any, outex: Any, pg: int, pgt: int, real_potential: bool = False) -> float:
    """The error at the first `ntest` points of all that `pg` and `pgt` name."""
    pairs = []
    for suffix, wanted in (("", pg), ("targ", pgt)):
        for name, least in (("pot", 1), ("grad", 2), ("hess", 3)):
            if wanted >= least:
                real = real_potential and name == "pot"
                ours, right = getattr(out, name + suffix), getattr(outex, name + suffix)
                pairs.append((first(ours, ntest, real), first(right, ntest, real)))
    return relative_error(pairs)
