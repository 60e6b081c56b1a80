"""A kernel of one's own: the soft-core repulsion 1/(r^2 + 1/16), from its text to its bits and to Verilog."""

import pathlib
import tempfile

import numpy as np

import pairforge

kernel = pairforge.compile(
    """
    fixed32.31 xi[3] ipin;   // coordinates in [-1, 1)
    fixed32.31 xj[3] jpin;
    float25.16 qj jpin;
    fixed64.30 pout fout;

    d = (float25.16)(xj - xi);
    r2 = d * d + 0.0625;
    pout += (fixed64.30)(qj * pg_inv(r2));
    """,
    name="softcore",
)
print(kernel)

# What the pipeline computes, to the bit, beside the same formula in float64.
rng = np.random.default_rng(1)
i = {"xi": rng.random((100, 3)) - 0.5}
j = {"xj": rng.random((200, 3)) - 0.5, "qj": rng.random(200)}
sums = kernel.run(i, j, backend="emulator")
distance2 = ((j["xj"][None] - i["xi"][:, None]) ** 2).sum(-1)
right = (j["qj"] / (distance2 + 0.0625)).sum(1)
error = np.abs(sums["pout"] / right - 1).max()
print(f"{sums.pairs} pairs, largest relative error {error:.1e}, flags {sums.flags or 'none'}")
assert error < 1e-4

# The schedule: a notebook shows `kernel.schedule` as a figure.
print(kernel.schedule)

# The circuit.
with tempfile.TemporaryDirectory() as folder:
    design = kernel.build(folder, pipelines=4, target="ecp5", mhz=80)
    print(f"{design!r}, latency {design.manifest['latency']} cycles, in {sorted(p.name for p in pathlib.Path(folder).iterdir())}")
assert "module" in design.verilog
