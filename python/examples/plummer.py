"""A Plummer sphere of stars: a few steps of their motion by leapfrog, with one plan, and the energy that should stay."""

import numpy as np

from pairforge import Plan

N, STEPS, DT, EPS = 2000, 20, 0.01, 0.02
rng = np.random.default_rng(1)

# Positions and velocities of Aarseth, Henon and Wielen, in units where mass, G and the virial radius are 1.
mass = np.full(N, 1 / N)
a = 3 * np.pi / 16


def directions(n):
    v = rng.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


radius = a / np.sqrt(rng.uniform(1e-3, 0.999, N) ** (-2 / 3) - 1)
q, ok = np.zeros(N), np.zeros(N, bool)
while not ok.all():
    trial = rng.random(N)
    accept = ~ok & (0.1 * rng.random(N) < trial**2 * (1 - trial**2) ** 3.5)
    q[accept], ok = trial[accept], ok | accept
speed = q * np.sqrt(2) * (radius**2 + a**2) ** -0.25
x = radius[:, None] * directions(N)
v = speed[:, None] * directions(N)

# Potentials are +sum m/r: gravity pulls along the gradient, and the energy has the potential with a minus.
plan = Plan(x, tol=1e-5, eps=EPS)


def energy(field):
    return 0.5 * (mass @ (v**2).sum(1)) - 0.5 * (mass @ field.potential)


field = plan.run(mass)
before = energy(field)
for _ in range(STEPS):
    v += 0.5 * DT * field.gradient
    x += DT * v
    plan.update(x)
    field = plan.run(mass)
    v += 0.5 * DT * field.gradient

drift = abs(energy(field) / before - 1)
print(f"{N} stars, {STEPS} steps: energy {before:.4f}, relative drift {drift:.1e}, order {field.stats['order']}")
assert drift < 1e-3
