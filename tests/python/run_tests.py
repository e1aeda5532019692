#!/usr/bin/env python3
"""Runs the tests of relucent_search.train, or exits with 77 and the reason where something that they need is not
installed.

run_tests.py PROGRAM [pytest's arguments]: PROGRAM is `relucent`.
"""
import importlib.util
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
missing = [name for name in ("torch", "safetensors", "tokenizers", "pytest") if importlib.util.find_spec(name) is None]
if sys.version_info < (3, 11) or missing:
    reason = f"{', '.join(missing)} not installed" if missing else "it is older than 3.11"
    print(f"SKIPPED: {sys.executable}: {reason}; choose another Python with cmake -DRELUCENT_PYTHON=...")
    sys.exit(77)
os.environ["RELUCENT_PROGRAM"] = os.path.abspath(sys.argv[1])
os.environ["PYTHONPATH"] = str(FOLDER.parent.parent / "python/src")
os.environ["OMP_NUM_THREADS"] = "1"
os.chdir(FOLDER)
tests = sys.argv[2:] or [".", "--ignore=package"]
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests])
