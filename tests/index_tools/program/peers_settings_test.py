"""The comparison with other libraries: the file of settings, and which setting is run. Needs none of the libraries."""
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "peers"))

import settings  # noqa: E402

PEERS = ["fast peer", "slow peer"]


class Clock:
    """Stands in for the module time; only scorers let time pass."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def scorer(self, seconds):
        def score():
            self.now += seconds

        return score


def settings_of(made, names="abc", seconds=(2, 1, 3), clock=Clock()):
    """Settings that take so many seconds; `made` gets the names of those that were made."""
    def make(name, takes):
        made.append(name)
        return clock.scorer(takes)

    for name, takes in zip(names, seconds):
        yield name, lambda name=name, takes=takes: make(name, takes)


class Settings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "settings.json"

    def test_what_was_written_is_read(self):
        chosen = {"fast peer": "bf16, 2 streams, batches of 10", "slow peer": "batches of 5"}
        settings.write(self.file, chosen)
        self.assertEqual(settings.read(self.file, PEERS), chosen)

    def test_a_file_that_is_none_is_refused_by_name(self):
        def refused(problem):
            with self.assertRaises(ValueError) as caught:
                settings.read(self.file, PEERS)
            self.assertIn(str(self.file), str(caught.exception))
            self.assertIn(problem, str(caught.exception))

        refused("No such file")
        for text, problem in (("{", "no JSON"), ("[]", "no object of strings"),
                              ('{"fast peer": 5}', "no object of strings"),
                              ('{"peer": "x"}', "no peer is called 'peer'; known are fast peer, slow peer")):
            self.file.write_text(text)
            refused(problem)

    def test_only_the_fixed_setting_is_made(self):
        made = []
        self.assertEqual(settings.fixed(settings_of(made), "b")[0], "b")
        self.assertEqual(made, ["b"])

    def test_a_setting_that_is_not_there_is_named_with_those_that_are(self):
        with self.assertRaisesRegex(ValueError, "'d'.*a; b; c"):
            settings.fixed(settings_of([]), "d")

    def test_the_search_takes_the_fastest(self):
        made, clock = [], Clock()
        with unittest.mock.patch("settings.time", clock):
            self.assertEqual(settings.fastest(settings_of(made, clock=clock))[0], "b")
        self.assertEqual(made, ["a", "b", "c"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
