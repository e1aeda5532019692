"""The one exception for bad input, and for files that cannot be read or written."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError

AGAIN = "fix this, then run the same command again"


class TrainingError(ValueError):
    """Names the file (and line or key), what is wrong there, and the remedy."""

    def __init__(self, where: object, problem: str, remedy: str = ""):
        super().__init__(f"{where}: {problem}" + (f"; {remedy}" if remedy else ""))

    @classmethod
    def of_file(cls, error: OSError, path: object = "a file") -> TrainingError:
        """path: where the error itself names none, as those of reading, writing and closing."""
        return cls(error.filename2 or error.filename or path, error.strerror or str(error), AGAIN)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raises a TrainingError that names the file or folder where an operation on it fails."""
    try:
        yield
    except OSError as error:
        raise TrainingError.of_file(error, path) from None


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises a TrainingError where the file or folder cannot be written."""
    try:
        with naming(path):
            yield
    except (RuntimeError, SafetensorError) as error:  # PyTorch's and safetensors' own
        reason = str(error).partition("\n")[0]
        raise TrainingError(path, f"cannot be written ({reason})", AGAIN) from None
