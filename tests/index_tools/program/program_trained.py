"""The bundled checkpoint through `relucent rerank` and `relucent evaluate` against PyTorch's answers."""

import gzip
import json
import unittest

from program_support import DATA, GOLDENS, ProgramTest, main, run

TOLERANCE = 0.0001
FEWER_BITS = 0.005  # what bf16 and int8 may cost


def names():
    return sorted(file.name.removesuffix(".tsv.gz") for file in (GOLDENS / "trained-v2").glob("*.tsv.gz"))


@unittest.skipUnless(
    names() and (DATA / "candidates").is_dir(),
    f"SKIPPED: needs {GOLDENS / 'trained'} and {DATA / 'candidates'} (RELUCENT_GOLDENS, RELUCENT_TEST_DATA)")
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
            for precision in ("fp32", "bf16", "int8"):
                with self.subTest(set=name, precision=precision):
                    tolerance = TOLERANCE if precision == "fp32" else FEWER_BITS
                    alone = self.rerank(candidates, self.folder / f"{name}.run", "--precision", precision)
                    self.assertAlmostEqual(self.ndcg(name, alone), expected["model"], delta=tolerance)
            profile = self.write("fusion.toml", '[rescorer]\nscore_mode = "total"\nnormalize = "minmax"\n'
                                 'rescore_weight = 1.0\nquery_weight = 0.3\ntimeout_ms = 0\n')
            fused = self.rerank(candidates, self.folder / f"{name}.fused.run", "--config", profile, "--precision",
                                "fp32")
            self.assertAlmostEqual(self.ndcg(name, fused),
                                   expected["minmax_model_plus_0.3_minmax_first_stage"],
                                   delta=TOLERANCE)

    def test_written_logits_are_the_goldens_for_the_first_queries(self):
        for name in names():
            with gzip.open(DATA / "candidates" / f"{name}-passage.bm25.rerank.jsonl.gz", "rt",
                           encoding="utf-8") as lines:
                some = [line for _, line in zip(range(300), lines)]
            with gzip.open(GOLDENS / "trained-v2" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
                expected = [line.split() for _, line in zip(range(len(some)), lines)]
            output = self.rerank(self.write("some.jsonl", "".join(some)), self.folder / "some.tsv", "--precision",
                                 "fp32")
            got = [line.split() for line in output.read_text(encoding="utf-8").splitlines()]
            logits = {(query, docno): float(logit) for query, docno, logit in got}
            self.assertEqual(len(logits), len(expected))
            for query, docno, logit in expected:
                self.assertAlmostEqual(logits[query, docno], float(logit), delta=1e-4)


if __name__ == "__main__":
    main()
