"""The Fast Multipole Method, and pairwise kernels in pipelined Verilog.

`fmm` sums q / |x_i - x_j| over all pairs to a wanted error, `Plan` does so again and again, `fmm2` and `Plan2` in two dimensions, and
`direct` and `direct2` by all pairs. Potentials are +sum q/r, without 4 pi, and gradients those of the potential. `compile` makes a
`Kernel` of a text in PG2, which runs on any backend and is built as Verilog.
"""

from ._errors import CompileError, Error, InputError, ToolError, UsageError
from ._fmm import Plan, Result, direct, fmm
from ._gpu import DeviceArray, GpuPlan, GpuResult
from ._kernel import Design, Kernel, Pin, Schedule, Sums, compile
from ._pairforge import __version__, get_num_threads, set_num_threads
from ._plane import Plan2, Result2, direct2, fmm2

__all__ = [
    "CompileError",
    "Design",
    "DeviceArray",
    "Error",
    "GpuPlan",
    "GpuResult",
    "InputError",
    "Kernel",
    "Pin",
    "Plan",
    "Plan2",
    "Result",
    "Result2",
    "Schedule",
    "Sums",
    "ToolError",
    "UsageError",
    "__version__",
    "compile",
    "direct",
    "direct2",
    "fmm",
    "fmm2",
    "get_num_threads",
    "set_num_threads",
]
