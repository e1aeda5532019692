"""Where sentences end, by the engine's rules: those of Unicode (UAX #29), as ICU applies them without a language."""
from __future__ import annotations

import ctypes
import ctypes.util
import functools
import re

from relucent_search.train.errors import TrainingError

SENTENCES = 3  # UBRK_SENTENCE
DONE = -1
SPACES = {space.encode("utf-16-le") for space in "\t\n\v\f\r "}


@functools.cache
def _icu() -> dict[str, ctypes._CFuncPtr]:
    """ICU's functions; their names end in its version. Raises TrainingError."""
    name = ctypes.util.find_library("icuuc")
    version = re.search(r"\d+", name or "")
    try:
        library = ctypes.CDLL(name or "libicuuc.so")
        functions = {function: getattr(library, f"ubrk_{function}_{version[0]}" if version else f"ubrk_{function}")
                     for function in ("open", "next", "close")}
    except (OSError, AttributeError) as error:
        raise TrainingError("ICU", f"cannot be used ({error})",
                            "install its library (libicu), which finds the sentences of the pattern qds") from None
    functions["open"].argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int32,
                                  ctypes.POINTER(ctypes.c_int)]
    functions["open"].restype = ctypes.c_void_p
    functions["next"].argtypes = functions["close"].argtypes = [ctypes.c_void_p]
    functions["next"].restype = ctypes.c_int32
    functions["close"].restype = None
    return functions


def sentences_of(text: str) -> list[str]:
    """The text in parts. White space between sentences belongs to the second one."""
    icu = _icu()
    units = text.encode("utf-16-le", "surrogatepass")
    status = ctypes.c_int(0)
    rules = icu["open"](SENTENCES, b"", units + b"\0\0", len(units) // 2, ctypes.byref(status))
    if status.value > 0:
        raise TrainingError("ICU", f"finding sentences failed with {status.value}", "check that its data are installed")
    parts, begin = [], 0
    try:
        while (end := 2 * icu["next"](rules)) != 2 * DONE:
            while begin < end < len(units) and units[end - 2 : end] in SPACES:
                end -= 2
            if end > begin:
                parts.append(units[begin:end].decode("utf-16-le", "surrogatepass"))
                begin = end
    finally:
        icu["close"](rules)
    return parts
