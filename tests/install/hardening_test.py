#!/usr/bin/env python3
"""Every program and library that is installed has what makes attacks on memory harder, as `readelf` shows it.

Usage: hardening_test.py COMPILER FILE...
"""
import os
import re
import subprocess
import sys
import tempfile


def readelf(file, *what):
    return subprocess.run(["readelf", "-W", *what, file], check=True, capture_output=True, text=True).stdout


def problems_of(file):
    """What the file lacks, one text each."""
    header, segments, dynamic = readelf(file, "-h"), readelf(file, "-l"), readelf(file, "-d")
    symbols = readelf(file, "--dyn-syms")
    found = []
    if not re.search(r"Type:\s+DYN", header):
        found.append("is loaded at a fixed address (no PIE)")
    if "GNU_RELRO" not in segments:
        found.append("keeps its relocated data writable (no RELRO)")
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW|\(BIND_NOW\)", dynamic):
        found.append("binds lazily, so that its tables stay writable (no BIND_NOW)")
    stack = re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+([RWE ]+?)\s+0x", segments)
    if stack is None or "E" in stack[1]:
        found.append("has an executable stack")
    if re.search(r"LOAD\s.*\sRWE\s", segments):
        found.append("has a segment that is writable and executable")
    if "TEXTREL" in dynamic:
        found.append("relocates its code (TEXTREL)")
    if "__stack_chk_fail" not in symbols:
        found.append("has no stack protector")
    if not re.search(r"\s__\w+_chk(@|\s)", symbols):
        found.append("calls no checked function of the C library (no FORTIFY)")
    path = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    if path and any(part == "" or not part.startswith(("/", "$ORIGIN")) for part in path[1].split(":")):
        found.append(f"looks for libraries in the working directory (run path {path[1]!r})")
    return found


def check_the_check(compiler):
    """A program without any of it must be found out."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "bare.cpp"), os.path.join(folder, "bare")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int main() { return 0; }\n")
        subprocess.run([compiler, "-O0", "-fno-pie", "-no-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE",
                        "-Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,:lib", source, "-o", program], check=True)
        found = problems_of(program)
    if len(found) != 7:
        sys.exit(f"FAILED: of a bare program only this is found: {found}")


def main():
    compiler, files = sys.argv[1], sys.argv[2:]
    check_the_check(compiler)
    wrong = 0
    for file in files:
        if not os.path.exists(file):
            print(f"not built: {file}")
            continue
        found = problems_of(file)
        wrong += len(found)
        print(f"{file}: {'; '.join(found) or 'hardened'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
