#!/usr/bin/env python3
"""The library in programs that it does not know: see host.cpp for the circumstances.

Usage: hosts_test.py FOLDER-OF-THE-HOSTS LIBRARY [unittest's arguments]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HOSTS, LIBRARY = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).absolute()
QUERIES = ("how do I keep bread fresh", "IRISES IN INDIA", "rising rivers")


class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="relucent-hosts-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.answers = cls.run_host("answer").stdout

    @classmethod
    def run_host(cls, mode, *arguments, host="host", index=None, plugin=None, **environment):
        command = [HOSTS / host, mode, index or cls.shared / "index", plugin or HOSTS / "hosted_search.so", *arguments]
        result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=200,
                                check=False)
        if result.returncode != 0:
            raise AssertionError(f"{mode}: {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def test_the_answers_are_those_of_the_texts(self):
        lines = self.answers.splitlines()
        self.assertEqual([line for line in lines if "\t" not in line], list(QUERIES))
        self.assertEqual(sum("INDIA" in line or "India" in line for line in lines), 3)

    def test_a_host_keeps_its_signal_handlers_and_its_interrupted_calls_do_no_harm(self):
        self.assertRegex(self.run_host("signals").stdout, r"^\d+ alarms")

    def test_stacks_of_256_kilobytes_are_enough(self):
        self.run_host("stacks")

    def test_forked_processes_search_and_are_told_what_they_cannot_use(self):
        child = re.search("^child: (.*)", self.run_host("fork").stdout, re.MULTILINE)
        self.assertIn("fork", child[1])

    def test_a_plugin_that_is_opened_and_closed_again_and_again_leaves_nothing_behind(self):
        rounds = re.findall(r"kilobytes (\d+) threads (\d+)", self.run_host("reload").stdout)
        self.assertEqual(len(rounds), 8)
        self.assertEqual({threads for _, threads in rounds}, {"1"})
        # The first rounds fill the allocator's pools.
        self.assertLess(int(rounds[-1][0]), int(rounds[3][0]) + 8192, rounds)

    def test_a_replaced_operator_new_serves_the_library_too(self):
        self.assertEqual(self.run_host("answer", host="host_with_allocator").stdout, self.answers)
        self.assertEqual(self.run_host("answer", host="host_with_allocator", index=self.shared / "other").stdout,
                         self.answers)

    def test_a_malloc_that_checks_every_block_finds_nothing(self):
        """Fresh and freed blocks have other contents than usual: an answer that depended on them would change."""
        for number, host in enumerate(("host", "host_with_allocator")):
            found = self.run_host("answer", host=host, index=self.shared / f"checked {number}",
                                  LD_PRELOAD=str(HOSTS / "checked_malloc.so"))
            self.assertEqual(found.stdout, self.answers, host)
        self.run_host("stacks", LD_PRELOAD=str(HOSTS / "checked_malloc.so"))

    def test_allocators_in_front_of_the_systems_change_no_answer(self):
        missing = []
        for name in ("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"):
            library = next(Path("/usr/lib").glob(f"*/{name}"), None)
            if library is None:
                missing.append(name)
                continue
            found = self.run_host("answer", index=self.shared / name, LD_PRELOAD=str(library))
            self.assertEqual(found.stdout, self.answers, name)
        if missing:
            self.skipTest("SKIPPED: not installed: " + ", ".join(missing))

    def test_the_locale_changes_no_answer(self):
        source = Path("/usr/share/i18n/locales/tr_TR")
        if not source.exists() or shutil.which("localedef") is None:
            self.skipTest("SKIPPED: needs localedef and the sources of the locales (Debian's package locales)")
        made = subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", self.shared / "tr_TR.UTF-8"],
                              capture_output=True, text=True, check=False)
        self.assertTrue((self.shared / "tr_TR.UTF-8").exists(), made.stderr)
        for locale in ("C", "tr_TR.UTF-8"):
            found = self.run_host("locale", locale, index=self.shared / f"in {locale}", LOCPATH=str(self.shared))
            self.assertEqual(found.stdout, self.answers, locale)

    def test_two_versions_of_the_library_work_side_by_side(self):
        # The same code under another soname stands for the next version.
        soname = re.search(rb"librelucent\.so\.\d+\.\d+", (HOSTS / "hosted_search.so").read_bytes())[0]
        other = soname[:-1] + b"Z"
        folder = self.shared / "next"
        folder.mkdir()
        for source, name in ((LIBRARY, other.decode()), (HOSTS / "hosted_search.so", "hosted_search.so")):
            (folder / name).write_bytes(source.read_bytes().replace(soname + b"\0", other + b"\0"))
        os.symlink(LIBRARY.parent.parent / "share", self.shared / "share")
        found = self.run_host("two", folder / "hosted_search.so", LD_LIBRARY_PATH=str(folder))
        self.assertEqual(found.stdout, self.answers)


if __name__ == "__main__":
    unittest.main(verbosity=2)
