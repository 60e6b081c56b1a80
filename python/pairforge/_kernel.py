"""Kernels of PG2: compiled from text, run on any backend, and built as Verilog."""

from __future__ import annotations

import json
import os
import pathlib
from functools import cached_property
from typing import Any, Callable, Mapping

import numpy as np
import numpy.typing as npt

from . import _pairforge
from ._arrays import host_array
from ._errors import InputError, UsageError


class Pin:
    """A declared pin: its name, class (ipin, jpin, param, fout), format, shape (empty for a scalar) and elements."""

    def __init__(self, name: str, kind: str, format: str, shape: list[int], elements: list[str]) -> None:
        self.name = name
        self.kind = kind
        self.format = format
        self.shape = tuple(shape)
        self.elements = elements

    def __repr__(self) -> str:
        return f"<{self.format} {self.name}{''.join(f'[{n}]' for n in self.shape)} {self.kind}>"


class Sums:
    """The results of a kernel at every target: `sums["pout"]` is (n,) for a scalar, (n, 3) for a vector of three.

    `raw(name)` has the bit patterns as unsigned integers, `flags` the names of the sticky flags of each target that has some.
    """

    def __init__(self, sums: Any, pins: list[Pin]) -> None:
        self._sums = sums
        self._pins = {pin.name: pin for pin in pins}
        self.pairs, self.cycles, self.utilisation = sums.counts()

    def keys(self) -> list[str]:
        return list(self._pins)

    def __iter__(self) -> Any:
        return iter(self._pins)

    def __len__(self) -> int:
        return len(self._pins)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        values: npt.NDArray[np.float64] = self._of(name, self._sums.values)
        return values

    def raw(self, name: str) -> npt.NDArray[np.uint64]:
        """The bit patterns of an output."""
        bits: npt.NDArray[np.uint64] = self._of(name, self._sums.patterns)
        return bits

    def _of(self, name: str, read: Callable[[str], Any]) -> Any:
        if name not in self._pins:
            raise KeyError(f"there is no output `{name}`; there are {', '.join(self._pins)}")
        pin = self._pins[name]
        if not pin.shape:
            return read(name)
        columns = np.stack([read(element) for element in pin.elements], axis=-1)
        return columns.reshape(-1, *pin.shape)

    @cached_property
    def flags(self) -> dict[int, list[str]]:
        bits, names = self._sums.flags()
        return {int(k): [name for at, name in enumerate(names) if bits[k] >> at & 1] for k in np.flatnonzero(bits)}

    def to_records(self) -> npt.NDArray[Any]:
        """All outputs as a structured array."""
        columns = {name: self[name] for name in self}
        n = len(next(iter(columns.values()))) if columns else 0
        dtype = [(name, np.float64, column.shape[1:]) for name, column in columns.items()]
        records = np.empty(n, dtype)
        for name, column in columns.items():
            records[name] = column
        return records


class Schedule:
    """The schedule of a pipeline: `rows` has each operator with its cycles, `table` the text, and a notebook shows the figure."""

    def __init__(self, design: Any) -> None:
        self._design = design
        self.data: dict[str, Any] = json.loads(design.schedule())

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.data["rows"]
        return rows

    @property
    def cycles(self) -> int:
        return int(self.data["cycles"])

    @property
    def register_bits(self) -> int:
        return int(self.data["register_bits"])

    @property
    def svg(self) -> str:
        return str(self._design.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return str(self._design.explain(False))

    def __repr__(self) -> str:
        return f"<pairforge.Schedule of {self.data['kernel']}: {self.cycles} cycles, {self.register_bits} register bits>"


class Design:
    """An engine of pipelines as synthesisable Verilog-2005, with its manifest and schedule."""

    def __init__(self, design: Any) -> None:
        self._design = design
        self.verilog: str = design.verilog
        self.manifest: dict[str, Any] = json.loads(design.manifest())

    @cached_property
    def schedule(self) -> Schedule:
        return Schedule(self._design)

    def save(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        """Writes the Verilog and its manifest into a folder, which is made where it is not there."""
        where = pathlib.Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, text in self._design.files():
            paths.append(where / name)
            paths[-1].write_text(text, encoding="utf-8")
        return paths

    def __repr__(self) -> str:
        return f"<pairforge.Design {self.manifest['top']}: {self.manifest['pipelines']} pipelines, {len(self.verilog)} bytes of Verilog>"


class Kernel:
    """A compiled kernel: a function of a target i and a source j, with the number formats of each value."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.pins = [Pin(*pin) for pin in handle.pins()]

    @property
    def name(self) -> str:
        return str(self._handle.name)

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """The compiler's warnings, as the `diagnostics` of a `CompileError`."""
        return list(self._handle.warnings())

    def with_params(self, **params: Any) -> Kernel:
        """The same kernel with values for parameters; those of vectors are sequences."""
        values = []
        for name, value in params.items():
            pin = next((pin for pin in self.pins if pin.name == name and pin.kind == "param"), None)
            if pin is None:
                known = ", ".join(pin.name for pin in self.pins if pin.kind == "param")
                raise UsageError(f"{self.name} has no parameter `{name}`; it has {known or 'none'}")
            try:
                given = np.asarray(value, np.float64).reshape(-1)
            except (TypeError, ValueError):
                raise InputError(f"`{name}` is {value!r}, and no number") from None
            if len(given) != len(pin.elements):
                raise InputError(f"`{name}` has {len(pin.elements)} elements, not {len(given)}")
            values += list(zip(pin.elements, map(float, given)))
        return Kernel(self._handle.with_params(values))

    def run(
        self,
        i: Any = None,
        j: Any = None,
        params: Mapping[str, Any] | None = None,
        backend: str = "emulator",
        *,
        raw: bool = False,
        pipelines: int | None = None,
        progress: Callable[[str, int, int], Any] | None = None,
    ) -> Sums:
        """Sums over all sources `j` at every target `i`: structured arrays, or dictionaries of arrays by the names of pins.

        A pin of three elements takes (n, 3). With `raw` all values are bit patterns, unsigned integers.
        """
        kernel = self.with_params(**params) if params else self
        targets, sources = kernel._records("i", "ipin", i, raw), kernel._records("j", "jpin", j, raw)
        sums = kernel._handle.run(targets, sources, backend, pipelines, progress)
        return Sums(sums, [pin for pin in self.pins if pin.kind == "fout"])

    def _records(self, what: str, kind: str, given: Any, raw: bool) -> list[tuple[str, Any]]:
        pins = [pin for pin in self.pins if pin.kind == kind]
        if given is None and not pins:
            return []
        names = getattr(getattr(given, "dtype", None), "names", None)
        if names is not None:
            given = {name: given[name] for name in names}
        if not isinstance(given, Mapping):
            raise InputError(f"`{what}` is no structured array and no dictionary; it takes {', '.join(p.name for p in pins) or 'nothing'}")
        columns: list[tuple[str, Any]] = []
        for pin in pins:
            if pin.name not in given:
                continue
            columns += _columns(f"{what}[{pin.name!r}]", pin, given[pin.name], raw)
        elements = {element for pin in pins for element in pin.elements if pin.shape}
        known = {pin.name for pin in pins}
        for name in given:
            if name in elements:
                columns += _columns(f"{what}[{name!r}]", Pin(name, kind, "", [], [name]), given[name], raw)
            elif name not in known:
                raise InputError(f"`{what}` has `{name}`, and {self.name} has no such {kind}; it has {', '.join(known) or 'none'}")
        return columns

    def build(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        pipelines: int | None = None,
        target: str | None = None,
        mhz: float | None = None,
        interval: int | None = None,
        multipliers: int | None = None,
        stream_bits: int | None = None,
        jmem_words: int | None = None,
        groups: int | None = None,
    ) -> Design:
        """An engine of pipelines around the kernel, written into `folder` where one is given."""
        options = {
            "pipelines": pipelines,
            "target": target,
            "mhz": mhz,
            "interval": interval,
            "multipliers": multipliers,
            "stream_bits": stream_bits,
            "jmem_words": jmem_words,
            "groups": groups,
        }
        design = Design(self._handle.build(options))
        if folder is not None:
            design.save(folder)
        return design

    def explain(self, *, lines: bool = False, **engine: Any) -> str:
        """The schedule as the command `pairforge explain` prints it."""
        return str(self._handle.build(engine).explain(lines))

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule for the default target and clock; `build(target=..., mhz=...).schedule` has others."""
        return Schedule(self._handle.build({}))

    def __repr__(self) -> str:
        return f"<pairforge.Kernel {self.name}: {', '.join(map(repr, self.pins))}>"


def _columns(what: str, pin: Pin, given: Any, raw: bool) -> list[tuple[str, Any]]:
    """The columns of a pin's elements from an array of shape (n, *shape)."""
    array = host_array(what, given)
    if array.ndim != 1 + len(pin.shape) or array.shape[1:] != pin.shape:
        shape = ", ".join(["n", *map(str, pin.shape)]) + ("," if not pin.shape else "")
        raise InputError(f"`{what}` has the shape {array.shape}; give ({shape})")
    if raw:
        if array.dtype.kind not in "ui" or array.dtype.kind == "i" and array.size and int(array.min()) < 0:
            raise InputError(f"`{what}` has values of the type {array.dtype}; bit patterns are unsigned integers")
        array = array.astype(np.uint64, copy=False)
    else:
        if array.dtype.kind not in "iufb":
            raise InputError(f"`{what}` has values of the type {array.dtype}; give numbers")
        array = array.astype(np.float64, copy=False)
    flat = array.reshape(len(array), -1) if pin.shape else array[:, None]
    return [(element, np.ascontiguousarray(flat[:, k])) for k, element in enumerate(pin.elements)]


def compile(text_or_path: str | os.PathLike[str], *, name: str | None = None) -> Kernel:
    """Compiles a kernel: the text of one, the path of a file, or the name of a shipped kernel such as "p2p"."""
    given = text_or_path
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"a kernel is a text or a path, not {type(given).__name__}")
    is_text = isinstance(given, str) and (";" in given or "\n" in given or not given.strip())
    if is_text:
        return Kernel(_pairforge.compile(name or "kernel", str(given), None))
    path = os.fspath(given)
    if not os.path.exists(path) and (found := _pairforge.shipped(path)) is not None:
        return Kernel(found)
    return Kernel(_pairforge.compile(name or "kernel", None, path))


def as_kernel(given: Any, params: Mapping[str, Any] | None = None) -> Kernel:
    """A kernel, or what `compile` makes of a text, a path or a name."""
    kernel = given if isinstance(given, Kernel) else compile(given)
    return kernel.with_params(**params) if params else kernel
