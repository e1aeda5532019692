"""The package's programs, which name the command that installs a package they need if it is missing."""
from __future__ import annotations

import importlib
import sys


def train() -> int:
    return _run("relucent_search.train.cli", "train")


def ray() -> int:
    return _run("relucent_search.ray_data", "ray")


def spark() -> int:
    return _run("relucent_search.spark", "spark")


def missing(package: str, extra: str) -> str:
    """That a package is missing, and the command that installs it: pip completes the package that is installed."""
    return f"error: the Python package {package} is missing; install it with pip install 'relucent-search[{extra}]'"


def _run(module: str, extra: str) -> int:
    try:
        main = importlib.import_module(module).main
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("relucent_search"):
            sys.exit(f"error: {error}")
        sys.exit(missing(error.name or module, extra))
    return main()
