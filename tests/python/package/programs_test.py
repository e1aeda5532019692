"""The package's programs without the packages that they need."""
import sys

import pytest

import relucent_search
from relucent_search import programs


@pytest.mark.parametrize(("program", "package", "extra"),
                         [(programs.train, "torch", "train"), (programs.spark, "pyspark", "spark"),
                          (programs.ray, "ray", "ray")])
def test_a_missing_package_is_named(program, package, extra, monkeypatch):
    modules = ("relucent_search.train", "relucent_search.spark", "relucent_search.ray_data")
    for name in [name for name in sys.modules if name.startswith(modules)]:
        monkeypatch.delitem(sys.modules, name)
    for name in {package, "pandas"} if extra in ("spark", "ray") else {package}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit, match=rf"the Python package (pandas|{package}) is missing.*\[{extra}\]"):
        program()


def test_the_package_names_its_version():
    assert relucent_search.__version__ == relucent_search.version()
