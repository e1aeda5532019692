"""What Relucent raises: one exception type with a subclass per code."""
from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """What went wrong, where, and what to do next. str() joins the parts."""

    code: ClassVar[str] = ""

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        super().__init__(place, problem, hint)
        self.place = place
        """The file, with the line, column, record, tensor or byte if known; may be empty."""
        self.problem = problem
        """What is wrong."""
        self.hint = hint
        """What to do next; may be empty."""

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, str]]:  # OSError, a base of one, keeps other arguments
        return type(self), (self.place, self.problem, self.hint)

    def __str__(self) -> str:
        text = f"{self.place}: {self.problem}" if self.place else self.problem
        return f"{text}; {self.hint}" if self.hint else text


class UsageError(Error, ValueError):
    """The caller asked for something impossible: an unknown setting, device or value."""

    code = "usage"


class InvalidDataError(Error, ValueError):
    """A file or text is missing parts, malformed or corrupt."""

    code = "invalid_data"


class FileError(Error):
    """The system refused: a missing file, a permission, a full disk, a lock."""

    code = "io"


class UnsupportedError(Error):
    """Well-formed, but not something this build or device can do."""

    code = "unsupported"


class DeviceError(Error):
    """An accelerator is absent or failed."""

    code = "device"


class DeadlineError(Error, TimeoutError):
    """The deadline passed."""

    code = "deadline"


class StoppedError(Error):
    """The work was stopped. After Ctrl-C you get KeyboardInterrupt instead."""

    code = "interrupted"


class InternalError(Error, RuntimeError):
    """A bug in the library; please report it."""

    code = "internal"


_CLASSES = {kind.code: kind for kind in Error.__subclasses__()}


def from_code(code: str, place: str, problem: str, hint: str) -> Error:
    """The exception for a code of the library."""
    return _CLASSES.get(code, InternalError)(place, problem, hint)
