#!/usr/bin/env python3
"""Checks which room includes which: every '#include "..."' must name a header of a room that the table below allows.
Kernels also name no model family: what a family needs is a feature of the encoder description.

    python3 cmake/check_includes.py [ROOT]

One include convention holds everywhere: "relucent/..." for public headers, "room/part/file.h" for the others. Lucene++
is kept out of rooms by the compiler itself: their targets lack its include path. Prints what is wrong and exits with 1.
"""
import re
import sys
from pathlib import Path

# Room (the longest matching prefix of a path wins): the rooms whose headers it may include, besides its own.
ALLOWED = {
    "base": [],
    "config": ["base"],
    "kernels": ["base"],
    "kernels/cuda": ["base", "kernels"],
    "model": ["base", "kernels"],
    "plugin": ["base", "config", "kernels", "model"],
    "server": ["base", "config", "model", "plugin"],
    "index_tools/corpora": ["base"],
    "index_tools/evaluation": ["base", "config", "plugin", "index_tools/corpora"],
    "index_tools/experiments": ["base", "config", "kernels", "model", "plugin", "index_tools/evaluation"],
    "index_tools/indexing": ["base", "config", "model", "plugin", "index_tools/corpora"],
    "index_tools/benchmarks": ["base", "config", "kernels", "model", "plugin", "index_tools/evaluation",
                               "index_tools/experiments", "index_tools/indexing"],
    "index_tools/program": ["base", "config", "kernels", "model", "plugin", "index_tools/benchmarks",
                            "index_tools/corpora", "index_tools/evaluation", "index_tools/experiments",
                            "index_tools/indexing", "server"],
    "tests": ["base", "config", "kernels", "kernels/cuda", "model", "plugin", "index_tools/benchmarks",
              "index_tools/corpora", "index_tools/evaluation", "index_tools/experiments", "index_tools/indexing",
              "index_tools/program", "server"],
    "docs": ["base", "config", "kernels", "model", "plugin"],
    "python": ["base", "config", "kernels", "model", "plugin"],
}
# Stand-ins that are found through a target's include path on purpose: the CUDA toolkit's headers and their emulation.
STAND_INS = {"cuda_runtime.h", "cublasLt.h", "instructions.h", "cuda.h"}
FAMILY = re.compile(r"mix_?encoder|\bmir\b|electra|roberta|xlm|modernbert|longformer|\bqds\b", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room_of(path):
    rooms = [room for room in ALLOWED if path == room or path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def header_of(name, root):
    """The header's path in the tree, or None."""
    if name.startswith("relucent/"):
        return next((f"{room}/include/{name}" for room in ALLOWED if (root / room / "include" / name).exists()), None)
    return name if (root / name).exists() else None


def problems(root):
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        room = room_of(path)
        if room is None or file.suffix not in {".h", ".cpp", ".cu", ".cuh", ".inl"}:
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            family = FAMILY.search(line) if path.startswith("kernels/") else None
            if family:
                yield f"{path}:{number}: kernels may not name a model family ({family[0]})"
            match = INCLUDE.match(line)
            if not match or match[1] in STAND_INS:
                continue
            place, name = f"{path}:{number}", match[1]
            header = header_of(name, root)
            if header is None:
                yield f'{place}: "{name}" is not a path from the root of the sources'
            elif room_of(header) not in [room, *ALLOWED[room]]:
                yield f'{place}: {room} may not include "{name}" of {room_of(header)}'


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    found = list(problems(root))
    print("\n".join(found) if found else "includes: every room includes only what it may")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
