#!/usr/bin/env python3
"""The resources of each kernel as the device compiler reports them, in one table; fails where a kernel spills registers
or has a stack.

usage: resources.py ARCHITECTURE[,ARCHITECTURE...] OBJECT...
Next to each object of a .cu file stands OBJECT.resources, the report of `ptxas -v` (kernels/cuda/keep_resources.sh)."""

import re
import subprocess
import sys
from pathlib import Path

KERNEL = re.compile(r"Compiling entry function '(\S+)' for '(sm_\w+)'")
MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def read(text):
    """Yields (mangled name, architecture, registers, stack, spilled, shared) of each kernel."""
    kernel = stack = spilled = None
    for line in text.splitlines():
        if found := KERNEL.search(line):
            kernel = found.groups()
        elif found := MEMORY.search(line):
            stack, spilled = int(found[1]), int(found[2]) + int(found[3])
        elif (found := USED.search(line)) and kernel:
            shared = SHARED.search(line)
            yield (*kernel, int(found[1]), stack, spilled, int(shared[1]) if shared else 0)
            kernel = stack = spilled = None


def demangled(names):
    try:
        out = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True,
                             check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return dict(zip(names, names))
    return dict(zip(names, (name.replace("relucent::cuda::", "").replace("(anonymous namespace)::", "")
                            for name in out.splitlines())))


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    architectures = arguments[0].split(",")
    reports = [Path(name + ".resources") for name in arguments[1:] if name.endswith(".cu.o")]
    rows, wrong = [], []
    for report in reports:
        if not report.is_file():
            wrong.append(f"{report} is missing: build its object again")
            continue
        rows += read(report.read_text())
    names = demangled([row[0] for row in rows])
    print(f"{'registers':>9} {'shared':>7} {'stack':>6} {'spilled':>8}  architecture  kernel")
    for name, architecture, registers, stack, spilled, shared in sorted(rows, key=lambda row: (names[row[0]], row[1])):
        print(f"{registers:9} {shared:7} {stack!s:>6} {spilled!s:>8}  {architecture:12}  {names[name]}")
        if stack != 0 or spilled != 0:
            wrong.append(f"{names[name]} on {architecture}: {stack} bytes of stack, {spilled} bytes spilled")
    for name in sorted(set(row[0] for row in rows)):
        missing = set(architectures) - {row[1] for row in rows if row[0] == name}
        if missing:
            wrong.append(f"{names[name]} was not compiled for {', '.join(sorted(missing))}")
    if not rows:
        wrong.append("no kernel was reported")
    for line in wrong:
        print("FAILED:", line)
    print(f"{len(set(row[0] for row in rows))} kernels, {len(architectures)} architectures, {len(wrong)} problems")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
