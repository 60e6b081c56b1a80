"""Runs a test bench on the design in a folder: run.py BENCH TOP FOLDER SIMULATOR FILES..."""

import os
import pathlib
import sys

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

bench, top, folder, simulator, *files = sys.argv[1:]
folder = pathlib.Path(folder).resolve()
here = pathlib.Path(__file__).resolve().parent
runner = get_runner(simulator)
# Icarus takes the rules of SystemVerilog unless it is told otherwise.
arguments = {"icarus": ["-g2005"], "verilator": ["-Wno-fatal"]}[simulator]
place = folder / f"{bench}_{simulator}"
runner.build(sources=[folder / f for f in files], hdl_toplevel=top, build_args=arguments, build_dir=place, always=True,
             timescale=("1ns", "1ps"))
os.environ["PYTHONPATH"] = f"{here}:{os.environ.get('PYTHONPATH', '')}"
results = runner.test(
    test_module=bench, hdl_toplevel=top, build_dir=place, test_dir=place, timescale=("1ns", "1ps"),
    extra_env={"FOLDER": str(folder)},
)
ran, failed = get_results(results)
print("PASS" if ran and not failed else "FAIL", ran, "tests")
sys.exit(bool(failed) or not ran)
