"""A periodic box of charges: rock salt, whose Madelung constant is known, and a perturbed crystal beside an Ewald sum."""

import numpy as np

import pairforge

# Rock salt: 8^3 ions with nearest neighbours at distance 1.
CELLS = 8
at = np.stack(np.meshgrid(*[np.arange(CELLS)] * 3, indexing="ij"), axis=-1).reshape(-1, 3).astype(float)
charge = np.where(at.sum(1) % 2 == 0, 1.0, -1.0)
field = pairforge.fmm(at, charge, tol=1e-7, periodic=float(CELLS), layout="rows")
madelung = -(charge * field.potential).mean()
print(f"Madelung constant {madelung:.6f}, of the literature 1.747565")
assert abs(madelung - 1.747564594633) < 1e-5

# Ions that move: forces are q times minus the gradient, and those of all ions balance.
rng = np.random.default_rng(1)
moved = at + 0.1 * rng.normal(size=at.shape)
plan = pairforge.Plan(moved, tol=1e-6, periodic=float(CELLS))
found = plan.run(charge)
right = pairforge.direct(moved, charge, periodic=float(CELLS))
error = np.linalg.norm(found.gradient - right.gradient) / np.linalg.norm(right.gradient)
force = -charge[:, None] * found.gradient
print(f"relative error of the gradient {error:.1e}, sum of the forces {np.abs(force.sum(0)).max():.1e}")
assert error <= 2e-6
