"""The bundled checkpoint through `relucent rerank` and `relucent evaluate` against PyTorch's answers.

All pairs in fp32; of the other precisions and the fusion the first queries, and all where RELUCENT_TEST_ALL is set.
"""

import gzip
import json
import os
import unittest

from program_support import DATA, GOLDENS, ProgramTest, main, run

TOLERANCE = 0.0001
FEWER_BITS = 0.005  # what fewer bits may cost
FURTHEST_LOGIT = {"fp32": 1e-4, "bf16": 0.05, "int16": 0.02, "int8": 0.35}
FIRST = 300  # candidates of the first queries
QUERY_WEIGHT = 0.3


def names():
    return sorted(file.name.removesuffix(".tsv.gz") for file in (GOLDENS / "trained-v2").glob("*.tsv.gz"))


@unittest.skipUnless(
    names() and (DATA / "candidates").is_dir(),
    f"SKIPPED: needs {GOLDENS / 'trained-v2'} and {DATA / 'candidates'} (RELUCENT_GOLDENS, RELUCENT_TEST_DATA)")
class Trained(ProgramTest):
    def ndcg(self, name, run_file):
        result = run("evaluate", "--qrels", DATA / "qrels" / f"qrels.{name}-passage.txt", "--run", run_file,
                     "--measures", "nDCG@10")
        measure, scope, value = self.expect(result, 0).stdout.strip().split("\t")
        self.assertEqual((measure, scope), ("nDCG@10", "all"))
        return float(value)

    def rerank(self, candidates, output, *flags):
        self.expect(run("rerank", "--input", candidates, "--output", output, *flags, timeout=1800), 0)
        return output

    def test_every_set_is_ranked_as_stated(self):
        for name in names():
            expected = json.loads((GOLDENS / "trained-v2" / "expected.json").read_text())[name]
            candidates = DATA / "candidates" / f"{name}-passage.bm25.rerank.jsonl.gz"
            with gzip.open(candidates, "rt", encoding="utf-8") as lines:
                records = [json.loads(line) for line in lines]
            first_stage = self.write(
                "bm25.run",
                "".join(f"{record['qid']} Q0 {record['docno']} {record['rank']} {1000 - record['rank']} bm25\n"
                        for record in records))
            self.assertAlmostEqual(self.ndcg(name, first_stage), expected["first_stage"], delta=TOLERANCE)
            every_pair = bool(os.environ.get("RELUCENT_TEST_ALL"))
            for precision in ("fp32", "bf16", "int16", "int8") if every_pair else ("fp32",):
                with self.subTest(set=name, precision=precision):
                    tolerance = TOLERANCE if precision == "fp32" else FEWER_BITS
                    alone = self.rerank(candidates, self.folder / f"{name}.run", "--precision", precision)
                    self.assertAlmostEqual(self.ndcg(name, alone), expected["model"], delta=tolerance)
            if every_pair:
                fused = self.rerank(candidates, self.folder / f"{name}.fused.run", "--config", self.fusion(),
                                    "--precision", "fp32")
                self.assertAlmostEqual(self.ndcg(name, fused), expected["minmax_model_plus_0.3_minmax_first_stage"],
                                       delta=TOLERANCE)

    def fusion(self):
        return self.write("fusion.toml", '[rescorer]\nscore_mode = "total"\nnormalize = "minmax"\n'
                          f'rescore_weight = 1.0\nquery_weight = {QUERY_WEIGHT}\ntimeout_ms = 0\n')

    def first_candidates(self, name):
        """A file of them, and (query, docno) -> (first stage's score, the golden logit)."""
        with gzip.open(DATA / "candidates" / f"{name}-passage.bm25.rerank.jsonl.gz", "rt", encoding="utf-8") as lines:
            some = [line for _, line in zip(range(FIRST), lines)]
        with gzip.open(GOLDENS / "trained-v2" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            golden = [line.split() for _, line in zip(range(FIRST), lines)]
        records = [json.loads(line) for line in some]
        scores = {(str(record["qid"]), str(record["docno"])): record["score"] for record in records}
        expected = {(query, docno): (scores[query, docno], float(logit)) for query, docno, logit in golden}
        self.assertEqual(len(expected), FIRST)
        return self.write("some.jsonl", "".join(some)), expected

    def test_logits_of_the_first_queries_are_the_goldens(self):
        for name in names():
            some, expected = self.first_candidates(name)
            for precision in ("fp32", "bf16", "int16", "int8"):
                with self.subTest(set=name, precision=precision):
                    output = self.rerank(some, self.folder / f"{precision}.tsv", "--precision", precision)
                    lines = [line.split() for line in output.read_text(encoding="utf-8").splitlines()]
                    logits = {(query, docno): float(logit) for query, docno, logit in lines}
                    self.assertEqual(logits.keys(), expected.keys())
                    delta = FURTHEST_LOGIT[precision]
                    for pair, (_, logit) in expected.items():
                        self.assertAlmostEqual(logits[pair], logit, delta=delta)

    def test_fused_scores_of_the_first_queries(self):
        def minmax(values):
            low, high = min(values), max(values)
            return [(value - low) / (high - low) for value in values]

        for name in names():
            some, expected = self.first_candidates(name)
            output = self.rerank(some, self.folder / "fused.run", "--config", self.fusion(), "--precision", "fp32")
            fused = {}
            for line in output.read_text(encoding="utf-8").splitlines():
                query, _, docno, _, score, _ = line.split()
                fused[query, docno] = float(score)
            self.assertEqual(fused.keys(), expected.keys())
            for query in {query for query, _ in expected}:
                pairs = [pair for pair in expected if pair[0] == query]
                first_stage, model = (minmax([expected[pair][place] for pair in pairs]) for place in (0, 1))
                for pair, first, second in zip(pairs, first_stage, model):
                    self.assertAlmostEqual(fused[pair], second + QUERY_WEIGHT * first, delta=1e-4)


if __name__ == "__main__":
    main()
