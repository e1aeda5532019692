#!/usr/bin/env python3
"""Checks that the compiler made of the vector kernels what their source means, for instructions that this machine may
lack.

usage: instructions.py OBJECT...      the objects of kernels/cpu/vector_kernels_*.cpp; others are passed over

- Every ldtilecfg reads the 64 bytes of a whole tile configuration, constants that no optimisation can drop.
- What follows the sums of 8-bit and 16-bit products is multiplied and added with a rounding each: a fused multiply-add
  there would give this level other bits than the rest. GCC compiles them as functions named after Int8 and Int16,
  Clang as a part of product()."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

WHOLE_TILES = bytes([1, 0]) + bytes(14) + bytes([64, 0] * 8) + bytes(16) + bytes([16] * 8) + bytes(8)
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(\S+)(?:\s+([^#]*))?")
RELOCATION = re.compile(r"R_X86_64_PC32\s+(\S+?)([-+]0x[0-9a-f]+)$")
REGISTER = re.compile(r"%[xyz]mm(\d+)")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def bytes_of(object_file, section, start):
    """The 64 bytes from `start` on of a section without relocations."""
    memory = bytearray()
    for line in run("objdump", "-s", "-j", section, object_file).splitlines():
        if found := re.match(r"^ [0-9a-f]+ ((?:[0-9a-f]{2,8} ){1,4})", line):
            memory += bytes.fromhex(found[1].replace(" ", ""))
    return bytes(memory[start:start + 64])


def place_of(object_file, symbol):
    """Section and offset of a symbol; a section's own name is its start."""
    for line in run("objdump", "-t", object_file).splitlines():
        parts = line.split()
        if len(parts) >= 4 and parts[-1] == symbol:
            return parts[-3], int(parts[0], 16)
    return symbol, 0


def configuration_problem(object_file, operands, next_line):
    relocation = RELOCATION.search(next_line)
    if "(%rip)" not in operands or not relocation:
        return f"ldtilecfg reads {operands.strip()}, which is not a constant"
    section, offset = place_of(object_file, relocation[1])
    found = bytes_of(object_file, section, offset + int(relocation[2], 16) + 4)
    return "" if found == WHOLE_TILES else f"ldtilecfg reads {found.hex(' ')}"


def check(object_file):
    """Yields the problems; returns how many configurations and conversions there were."""
    configurations = conversions = 0
    function = ""
    converted = set()  # vector registers that hold sums of integers as floats
    lines = run("objdump", "-d", "-r", "-C", "--no-show-raw-insn", object_file).splitlines()
    for at, line in enumerate(lines):
        if found := FUNCTION.match(line):
            function = re.sub(r"relucent::cpu::(\w+::)?|\(anonymous namespace\)::", "", found[1])
            converted.clear()
        if not (found := INSTRUCTION.match(line)):
            continue
        name, operands = found[1], found[2] or ""
        if name == "ldtilecfg":
            configurations += 1
            if problem := configuration_problem(object_file, operands, lines[at + 1]):
                yield f"{function}: {problem}"
        if not re.search(r"Int8|Int16|\bproduct\(", function):
            continue
        registers = REGISTER.findall(operands)
        if re.match(r"v?fn?m(add|sub)", name[1:] if name.startswith("v") else name) and converted & set(registers):
            yield f"{function}: {name} {operands.strip()} fuses what follows the sums"
        if registers:
            converted.discard(registers[-1])
        if name in ("vcvtdq2ps", "cvtdq2ps") and registers:
            conversions += "Int16" not in function  # without 8-bit sums it has read the wrong functions
            converted.add(registers[-1])
    return configurations, conversions


def main(objects):
    if not shutil.which("objdump"):
        print("SKIPPED: there is no objdump (package binutils)")
        return 0
    failed = False
    kernels = [o for o in objects if re.search(r"vector_kernels_\w+\.cpp", Path(o).name)]
    for object_file in kernels:
        problems = check(object_file)
        found = []
        while True:
            try:
                found.append(next(problems))
            except StopIteration as end:
                configurations, conversions = end.value
                break
        name = re.sub(r".*vector_kernels_(\w+)\.cpp.*", r"\1", Path(object_file).name)
        if name == "amx" and configurations == 0:
            found.append("no ldtilecfg was found")
        if conversions == 0:
            found.append("no sums of 8-bit products were found")
        print(f"{name}: {configurations} tile configurations, {conversions} conversions of 8-bit products' sums")
        for problem in found[:5]:
            print(f"FAILED: {name}: {problem}")
        if len(found) > 5:
            print(f"FAILED: {name}: and {len(found) - 5} more")
        failed = failed or bool(found)
    if not kernels:
        print("FAILED: no objects of vector kernels were named")
    return 1 if failed or not kernels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
