"""Relucent's library for Conan 2, from the checkout that contains this recipe:

    conan create cmake/packages/conan -c tools.system.package_manager:mode=install

What it needs comes from Debian, not from Conan: with that setting apt-get installs it (through sudo with
-c tools.system.package_manager:sudo=True), and without the setting it must be there. packages.txt has the names.
"""

import re
import shutil
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

# The rooms of the library, and what is installed with it.
FOLDERS = ("base", "cmake", "config", "docs", "index_tools/demo", "kernels", "model", "plugin")
FILES = ("CMakeLists.txt", "LICENSE", "NOTICE", "packages.txt")


class Relucent(ConanFile):
    name = "relucent"
    license = "Apache-2.0"
    description = "Second-stage rescoring for Lucene++ with a sparse cross-encoder"
    topics = ("search", "lucene", "reranking", "cross-encoder")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def _checkout(self):
        return Path(self.recipe_folder).parents[2]

    def set_version(self):
        text = load(self, self._checkout() / "CMakeLists.txt")
        self.version = re.search(r"^project\(Relucent VERSION ([0-9.]+)", text, re.MULTILINE)[1]

    def export(self):
        copy(self, "packages.txt", self._checkout(), self.export_folder)

    def export_sources(self):
        target = Path(self.export_sources_folder)
        for folder in FOLDERS:
            copy(self, "*", self._checkout() / folder, target / folder)
        for file in (*(self._checkout() / name for name in FILES), *self._checkout().glob("*.md")):
            shutil.copy(file, target)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Relucent runs on Linux only")

    def system_requirements(self):
        listed = load(self, Path(self.recipe_folder) / "packages.txt")
        libraries = listed.split("# libraries\n")[1].split("#")[0].split()
        Apt(self).install(libraries, check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["RELUCENT_TESTS"] = False
        toolchain.cache_variables["RELUCENT_TOOLS"] = False
        toolchain.cache_variables["RELUCENT_CUDA"] = "off"
        toolchain.cache_variables["CMAKE_UNITY_BUILD"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="relucent_installed")

    def package(self):
        CMake(self).install()

    def package_info(self):
        # Consumers read the package's own CMake and pkg-config files, as without Conan.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/Relucent"]
        self.cpp_info.libs = ["relucent"]
