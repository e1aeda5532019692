"""Memory for steps that all need the same amount."""
from __future__ import annotations

import ctypes

# <malloc.h>
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """From now on glibc keeps what tensors free for later ones. By default it returns large blocks to the kernel, which
    then has to clear new pages in each step. Elsewhere than under glibc, nothing changes."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, -1)
