"""Exceptions: each text says what is wrong and what to do."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A computation that Pairforge could not do."""


class InputError(Error, ValueError):
    """Arrays, numbers or a kernel are not what is needed."""


class UsageError(InputError):
    """Options are out of range, or do not go together."""


class ToolError(Error, RuntimeError):
    """A tool or a device is missing, or has failed."""


class CompileError(InputError):
    """A text is no kernel. It shows each mistake with its place; `diagnostics` has them as data.

    Each diagnostic is a dictionary: `severity`, `code`, `message`, `help`, `line` and `column`, both from 1.
    """

    def __init__(self, shown: str, text: str = "", diagnostics: list[dict[str, Any]] | None = None) -> None:
        super().__init__(shown)
        self.text = text
        self.diagnostics = diagnostics or []

    def __reduce__(self) -> Any:
        return CompileError, (self.args[0], self.text, self.diagnostics)
