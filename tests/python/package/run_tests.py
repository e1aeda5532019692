#!/usr/bin/env python3
"""Installs the package as a user would, from a wheel, and runs its tests; or exits with 77 and the reason where
something that they need is not installed.

run_tests.py PROGRAM BUILD [pytest's arguments]: PROGRAM is `relucent`, BUILD the build folder with the library.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCE = FOLDER.parents[2] / "python"
NEEDED = ("nanobind", "scikit_build_core", "numpy", "pip", "pytest")


def skip(reason):
    print(f"SKIPPED: {sys.executable}: {reason}; choose another Python with cmake -DRELUCENT_PYTHON=...")
    sys.exit(77)


missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if sys.version_info < (3, 11):
    skip("it is older than 3.11")
if missing:
    skip(f"{', '.join(missing)} not installed")
if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
    skip("Python.h is not installed")
program, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
installed = build / "python/installed"
install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
           "--disable-pip-version-check", "--root-user-action=ignore", "--upgrade", "--target", installed,
           f"--config-settings=build-dir={build}/python/wheel",
           f"--config-settings=cmake.define.Relucent_DIR={build}", SOURCE]
if subprocess.run(install).returncode != 0:
    sys.exit("FAILED: the package could not be built")
environment = {**os.environ, "RELUCENT_PROGRAM": str(program), "PYTHONPATH": str(installed)}
os.chdir(FOLDER)
os.execve(sys.executable, [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                           *(sys.argv[3:] or ["."])], environment)
