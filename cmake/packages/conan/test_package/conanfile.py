"""Builds the project of docs/examples/cmake/find_package with the package, and lets it order two texts."""

from io import StringIO
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import save


class RelucentTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, src_folder="../../../../docs/examples/cmake/find_package")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # the example's folder belongs to the checkout
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        program, texts, answer = Path(self.build_folder, self.cpp.build.bindir, "rerank_texts"), "texts.txt", StringIO()
        save(self, texts, "Paris is in France.\nBoil the egg for seven minutes.\n")
        self.run(f'"{program}" "how to boil an egg" < {texts}', stdout=answer, env="conanrun")
        self.output.info(answer.getvalue())
        if "Boil the egg" not in answer.getvalue().splitlines()[0]:
            raise ConanException("the text that answers the question is not first")
