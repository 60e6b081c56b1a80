#!/usr/bin/env python3
"""Makes fmm/src/expansion/solid/waves/table.rs: quadratures of plane waves.

int_0^inf exp(-l z) J_0(l rho) dl = 1 / sqrt(z^2 + rho^2) for z = 1 to 4 and rho = 0 to 4 sqrt(2), by as few nodes as do. Nodes and weights
are found by least squares, for each number of nodes from those of one or two nodes less, stretched. Needs NumPy and SciPy; takes minutes.

    python3 scripts/plane_waves.py 12 13 14 15 16 17 18 19 20 21 22 23 25 26 27 28 30 > fmm/src/expansion/solid/waves/table.rs
"""

import sys

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import least_squares
from scipy.special import j0, j1


def grid(first, last, count):
    """Chebyshev points, both ends among them."""
    return (first + last) / 2 - (last - first) / 2 * np.cos(np.pi * np.arange(count) / (count - 1))


# As dense in rho as the fastest wave asks for.
Z, RHO = (a.ravel() for a in np.meshgrid(1 / grid(1 / 4, 1, 22), grid(0, 4 * 2**0.5, 100), indexing="ij"))
WANTED = 1 / np.hypot(Z, RHO)


def off(nodes, weights):
    return (np.exp(-np.outer(Z, nodes)) * j0(np.outer(RHO, nodes))) @ weights - WANTED


def fitted(nodes, weights, steps):
    """Nodes and weights of least squares near some, in the logarithm of the nodes."""
    n = len(nodes)
    scale = 1e3 / np.sqrt(np.mean(off(nodes, weights) ** 2))

    def slopes(x):
        nodes, weights = np.exp(x[:n]), x[n:]
        falls, at = np.exp(-np.outer(Z, nodes)), np.outer(RHO, nodes)
        by_node = -Z[:, None] * falls * j0(at) - RHO[:, None] * falls * j1(at)
        return scale * np.hstack([by_node * weights * nodes, falls * j0(at)])

    found = least_squares(
        lambda x: scale * off(np.exp(x[:n]), x[n:]),
        np.concatenate([np.log(nodes), weights]),
        slopes, method="lm", max_nfev=steps, x_scale="jac", xtol=1e-15, ftol=1e-12, gtol=1e-15,
    ).x
    order = np.argsort(found[:n])
    return np.exp(found[:n])[order], found[n:][order]


def stretched(nodes, weights, count, factor):
    """As smooth a spacing of more nodes."""
    n = len(nodes)
    places = (np.arange(count) + 1) * n / count
    of_place = PchipInterpolator(np.arange(n + 1), np.concatenate([[0], nodes]))
    return of_place(places) * factor, np.interp(places, np.arange(n) + 1, weights) * n / count * factor


def main():
    wanted = [int(count) for count in sys.argv[1:]]
    known = {4: fitted(np.array([0.2, 0.8, 1.6, 2.5]), np.array([0.4, 0.7, 0.9, 1.0]), 400)}
    for count in range(5, max(wanted) + 1):
        best = None
        for before in [b for b in (count - 1, count - 2, count - 3) if b in known]:
            for factor in (1.0, 1.03, 1.06, 1.1, 1.15):
                nodes, weights = fitted(*stretched(*known[before], count, factor), 120)
                if weights.min() <= 0 or nodes[-1] > 40:
                    continue
                error = np.sqrt(np.mean(off(nodes, weights) ** 2))
                if best is None or error < best[0]:
                    best = (error, nodes, weights)
        if best is not None:
            known[count] = fitted(*best[1:], 400)
    print("//! Nodes and weights of quadratures with their errors, made by scripts/plane_waves.py.\n")
    print("/// The largest error over z = 1 to 4 and rho = 0 to 4 sqrt(2), and nodes with their weights.")
    print("pub const TABLE: &[(f64, &[[f64; 2]])] = &[")
    for count in (count for count in wanted if count in known):
        nodes, weights = known[count]
        print(f"    ({1.1 * np.abs(off(nodes, weights)).max():.2e}, &[")
        print("".join(f"        [{node!r}, {weight!r}],\n" for node, weight in zip(nodes.tolist(), weights.tolist())), end="")
        print("    ]),")
    print("];")


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
