"""`--metadata` of search, rerank and experiment, and the first stages that it describes."""

import json
import re
import struct
import unittest

from program_support import DEMO, DemoIndexTest, main, run

try:
    import yaml
except ImportError:
    yaml = None

DEVICE = ["--device", "cpu", "--precision", "fp32", "--window", "5"]
EXPERIMENT = """title = "Two windows"
measures = ["RR@10"]
reference = "w=4"
[[tasks]]
name = "demo"
index = "{index}"
topics = "{demo}/queries.tsv"
qrels = "{demo}/qrels.txt"
hits = 5
{first_stage}
[[rows]]
name = "first"
kind = "first stage"
[[rows]]
name = "w=4"
"""


def parse(text):
    """The YAML that the program writes: blocks by indentation, scalars in JSON."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines()]

    def block(at, indent):
        values, of_list = [], lines[at][1].startswith("- ")
        while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("- ") == of_list:
            line = lines[at][1]
            if of_list:
                if re.match(r'- [a-z].*: |- [a-z].*:$', line):
                    lines[at] = (indent + 2, line[2:])
                    value, at = block(at, indent + 2)
                else:
                    value, at = json.loads(line[2:]), at + 1
                values.append(value)
                continue
            key, _, scalar = line.partition(":")
            if scalar:
                value, at = json.loads(scalar), at + 1
            else:
                value, at = block(at + 1, lines[at + 1][0])
            values.append((key, value))
        return (values if of_list else dict(values)), at

    tree, end = block(0, 0)
    assert end == len(lines), lines[end]
    return tree


class Metadata(DemoIndexTest):
    def search(self, *flags, name="x.yml"):
        file = self.folder / name
        result = run("search", "--index", self.index, "--topics", DEMO / "queries.tsv", "--run", self.folder / "x.run",
                     "--metadata", file, *flags)
        self.expect(result, 0)
        return file.read_text(encoding="utf-8")

    def test_a_search_states_platform_command_method_data_and_resources(self):
        text = self.search("--tag", "mine", *DEVICE)
        tree = parse(text)
        if yaml:
            self.assertEqual(yaml.safe_load(text), tree)
        self.assertEqual(list(tree), ["schema version", "tag", "platform", "research goal", "implementation", "method",
                                      "actor", "data", "resources"])
        self.assertEqual(tree["tag"], "mine")
        self.assertIsNone(tree["actor"])
        self.assertGreater(tree["platform"]["hardware"]["cpu"]["number of cores"], 0)
        self.assertRegex(tree["platform"]["hardware"]["ram"], r"^[1-9]\d* MB$")
        self.assertRegex(tree["platform"]["operating system"]["kernel"], "^Linux ")
        command = tree["implementation"]["executable"]["cmd"]
        self.assertEqual(command[1:3] + command[-8:-6], ["search", "--index", "--tag", "mine"])
        bm25, rescorer = tree["method"]["retrieval"]
        self.assertEqual((bm25["name"], bm25["k1"], bm25["b"]), ("bm25", 0.9, 0.4))
        self.assertEqual((rescorer["reranks"], rescorer["window"]), ("bm25", 5))
        self.assertIn("relucent-minilm", rescorer["method"])
        self.assertEqual(tree["method"]["indexing"]["analyzer"], "english")
        self.assertEqual(tree["data"]["test collection"]["topics"], str(DEMO / "queries.tsv"))
        runtime = tree["resources"]["runtime"]
        for name in ("wallclock", "user", "system"):
            self.assertRegex(runtime[name], r"^\d+ ms$")
        self.assertGreater(int(runtime["user"].split()[0]), 0)
        self.assertRegex(runtime["start time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertLessEqual(runtime["start time"], runtime["stop time"])
        energy = tree["resources"]["cpu"]["energy used system"]
        self.assertTrue(energy is None or re.fullmatch(r"\d+\.\d{3} J", energy), energy)

    def test_another_name_gets_the_comments_in_front_of_a_run(self):
        text = self.search("--no-rescore", name="x.head")
        lines = text.splitlines()
        self.assertEqual((lines[0], lines[-1]), ("# ir_metadata.start", "# ir_metadata.end"))
        self.assertEqual(parse("\n".join(line[2:] for line in lines[1:-1]))["method"]["retrieval"][0]["name"], "bm25")
        self.assertTrue(all(line.startswith("# ") for line in lines))

    def test_other_first_stages_are_named_with_their_parameters(self):
        tree = parse(self.search("--no-rescore", "--qld", "--mu", "500", "--rm3", "--rm3-terms", "20"))
        self.assertEqual([(stage["name"], stage.get("mu"), stage.get("fb_terms"), stage.get("reranks"))
                          for stage in tree["method"]["retrieval"]],
                         [("qld", 500, None, None), ("rm3", None, 20, "qld")])

    def test_a_rerank_names_its_candidates(self):
        file, candidates = self.folder / "x.yml", self.folder / "rerank.jsonl"
        self.expect(run("search", "--index", self.index, "--topics", DEMO / "queries.tsv", "--rerank-file", candidates,
                        "--hits", "3"), 0)
        self.expect(run("rerank", "--input", candidates, "--output", self.folder / "x.run", "--metadata", file,
                        *DEVICE), 0)
        tree = parse(file.read_text(encoding="utf-8"))
        self.assertEqual(tree["data"]["candidates"], str(candidates))
        self.assertIn("relucent-minilm", tree["method"]["retrieval"][0]["method"])

    def experiment(self, first_stage="", **more):
        file = self.write("x.toml", EXPERIMENT.format(index=self.index, demo=DEMO.resolve(), first_stage=first_stage))
        return run("experiment", "run", file, "--cache", self.folder / "cache", "--quiet", "--metadata",
                   self.folder / "x.yml", "--format", "csv", **more)

    def test_an_experiment_states_its_goal_and_its_rows(self):
        self.expect(self.experiment(), 0)
        tree = parse((self.folder / "x.yml").read_text(encoding="utf-8"))
        self.assertEqual(tree["research goal"]["evaluation"]["reported measures"], ["RR@10"])
        self.assertEqual(tree["research goal"]["evaluation"]["baseline"], ["w=4"])
        self.assertEqual([row["name"] for row in tree["method"]["retrieval"]], ["first", "w=4"])
        self.assertEqual(tree["data"]["test collections"][0]["first stage"][0]["name"], "bm25")

    def test_an_experiment_searches_with_the_first_stage_that_it_names(self):
        self.write("qld.toml", '[first_stage]\nscoring = "qld"\nmu = 10\n')
        self.expect(self.experiment('first_stage = "qld.toml"'), 0)
        tree = parse((self.folder / "x.yml").read_text(encoding="utf-8"))
        self.assertEqual(tree["data"]["test collections"][0]["first stage"][0]["mu"], 10)
        refused = self.experiment('first_stage = "absent.toml"')
        self.expect(refused, 3)
        self.assertIn("absent.toml", refused.stderr)

    def test_a_file_that_cannot_be_written_fails_before_the_search(self):
        self.expect_error(1, "nowhere/x.yml", arguments=(
            "search", "--index", self.index, "--topics", DEMO / "queries.tsv", "--run", self.folder / "x.run",
            "--metadata", self.folder / "nowhere" / "x.yml"))
        self.assertFalse((self.folder / "x.run").exists())
        self.expect_error(2, "--metadata", "--topics", arguments=(
            "search", "--index", self.index, "--metadata", self.folder / "x.yml", "a question"))


class FirstStages(DemoIndexTest):
    def hits(self, *flags):
        result = self.expect(run("search", "--index", self.index, "--json", "--no-rescore", *flags,
                                 "show network traffic of a process"), 0)
        return [(hit["id"], struct.pack("<f", hit["score"])) for hit in json.loads(result.stdout)["hits"]]

    def test_flags_do_what_the_profile_does(self):
        profile = self.write("x.toml", '[first_stage]\nscoring = "qljm"\nlambda = 0.4\nrm3 = true\nrm3_documents = 3\n')
        by_flags = self.hits("--qljm", "--lambda", "0.4", "--rm3", "--rm3-documents", "3")
        self.assertEqual(by_flags, self.hits("--config", profile))
        self.assertEqual(by_flags, self.hits("--qljm", "--qljm.lambda", "0.4", "--rm3", "--rm3.fbDocs", "3"))
        plain = self.hits()
        for flags in (["--qld"], ["--qljm"], ["--rm3"], ["--qld", "--rm3"], ["--qld", "--mu", "10"]):
            self.assertNotEqual(self.hits(*flags), plain, flags)

    def test_flags_without_effect_are_refused(self):
        for flags, part in ((["--mu", "3"], "--qld"), (["--lambda", "0.3"], "--qljm"), (["--rm3-terms", "3"], "--rm3"),
                            (["--qld", "--qljm"], "choose one"), (["--qld", "--mu", "0"], "mu")):
            self.expect_error(2, part, arguments=("search", "--index", self.index, *flags, "a question"))

    def test_the_rescorer_reranks_what_rm3_finds(self):
        rm3 = self.hits("--rm3", "--hits", "5")
        result = self.expect(run("search", "--index", self.index, "--json", "--rm3", "--hits", "5", *DEVICE,
                                 "show network traffic of a process"), 0)
        found = json.loads(result.stdout)
        self.assertEqual({(hit["id"], struct.pack("<f", hit["first_stage_score"])) for hit in found["hits"]}, set(rm3))
        self.assertEqual(found["rescored"], 5)


if __name__ == "__main__":
    main()
