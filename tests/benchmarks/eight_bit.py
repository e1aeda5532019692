"""What 8-bit products would cost in accuracy: the bundled checkpoint in PyTorch with the operands of its encoder's
products rounded to e4m3 or int8 and back ("fake quantization"), everything else in fp32, on the pairs of DL 2021.

  python tests/benchmarks/eight_bit.py [--queries N] [--products int8]
    (needs torch, transformers and SciPy, and the data of RELUCENT_TEST_DATA, by default ../shared/data)

Activations have a scale per row, weights one per output, both of the largest value. "smoothed": what LayerNorm's gamma
and beta say about the size of each feature, and the weights that it meets, is divided between the two before rounding
(Xiao et al., "SmoothQuant", 2023, with gamma and beta in the place of measured activations).
"""
import argparse
import collections
import gzip
import json
import math
import os
import pathlib
import statistics
import sys

import torch
from scipy.stats import kendalltau
from transformers import AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

from sparse_torch import SparseBert  # noqa: E402

DATA = pathlib.Path(os.environ.get("RELUCENT_TEST_DATA", ROOT / "../shared/data"))
LONGEST = 512


def e4m3(x: torch.Tensor) -> torch.Tensor:
    scale = x.abs().amax(-1, keepdim=True).clamp_min(1e-12) / torch.finfo(torch.float8_e4m3fn).max
    return (x / scale).to(torch.float8_e4m3fn).to(x.dtype) * scale


def int8(x: torch.Tensor) -> torch.Tensor:
    scale = x.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127
    return (x / scale).round() * scale


def unsigned_int8(x: torch.Tensor) -> torch.Tensor:
    """Of GELU's values, which are never below -0.17: all 256 numbers go to what can occur."""
    least = 0.17
    scale = (x.amax(-1, keepdim=True) + least).clamp_min(1e-12) / 255
    return ((x + least) / scale).round() * scale - least


class Products:
    """torch.nn.functional with linear() on rounded operands."""

    def __init__(self, model: SparseBert, rounded, smoothed: bool, of_gelu=None):
        # By the address of the original: rounded, what divides the activations, and how these are rounded.
        self.weights = {}
        for name, weight in model.weights.items():
            if ".encoder." not in name or not name.endswith("weight") or weight.dim() != 2:
                continue
            divisor = self.divisor(model.weights, name, weight) if smoothed else None
            after_gelu = ".output.dense" in name and ".attention." not in name
            self.weights[weight.data_ptr()] = (rounded(weight if divisor is None else weight * divisor), divisor,
                                               of_gelu if of_gelu and after_gelu else rounded)

    @staticmethod
    def divisor(weights, name: str, weight):
        """Per feature, the root of (how large gamma and beta let it be / how large its weights are)."""
        layer = int(name.split(".encoder.layer.")[1].split(".")[0])
        if ".attention.self." in name:
            norm = f"bert.encoder.layer.{layer - 1}.output.LayerNorm" if layer else "bert.embeddings.LayerNorm"
        elif ".intermediate." in name:
            norm = f"bert.encoder.layer.{layer}.attention.output.LayerNorm"
        else:
            return None
        size = 3 * weights[f"{norm}.weight"].abs() + weights[f"{norm}.bias"].abs()
        return (size / weight.abs().amax(0).clamp_min(1e-6)).sqrt().clamp_min(1e-6)

    def linear(self, x, weight, bias):
        if weight.data_ptr() not in self.weights:
            return torch.nn.functional.linear(x, weight, bias)
        weight, divisor, rounded = self.weights[weight.data_ptr()]
        return torch.nn.functional.linear(rounded(x if divisor is None else x / divisor), weight, bias)

    def __getattr__(self, name):
        return getattr(torch.nn.functional, name)


class Torch:
    """The module with another `nn.functional`: SparseBert takes both from its attribute."""

    def __init__(self, functional):
        self.nn = type("nn", (), {"functional": functional})

    def __getattr__(self, name):
        return getattr(torch, name)


def read_candidates(queries: int) -> dict[str, list[dict]]:
    candidates: dict[str, list[dict]] = collections.defaultdict(list)
    with gzip.open(DATA / "candidates/dl21-passage.bm25.rerank.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            candidates[one["qid"]].append(one)
    return dict(list(candidates.items())[:queries])


@torch.inference_mode()
def score(model: SparseBert, tokenizer, candidates) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for qid, documents in candidates.items():
        encoded = [tokenizer(one["query"], one["text"], truncation="only_second", max_length=LONGEST)
                   for one in documents]
        by_length = collections.defaultdict(list)
        for i, one in enumerate(encoded):
            by_length[len(one["input_ids"])].append(i)
        scores[qid] = {}
        for members in by_length.values():
            ids, types = (torch.tensor([encoded[i][key] for i in members]) for key in ("input_ids", "token_type_ids"))
            for i, logit in zip(members, model(ids, types).tolist()):
                scores[qid][documents[i]["docno"]] = logit
        model.masks.clear()
        print(f"\r{len(scores)} of {len(candidates)} queries", end="", file=sys.stderr)
    print("\r", end="", file=sys.stderr)
    return scores


def ndcg_10(scores, judgments) -> float:
    def gain(grades):
        return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades[:10]))

    values = []
    for qid, of in scores.items():
        best = gain(sorted(judgments[qid].values(), reverse=True))
        order = sorted(of, key=lambda docno: (-of[docno], docno))
        values.append(gain([judgments[qid].get(docno, 0) for docno in order]) / best if best else 0.0)
    return statistics.mean(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "model/relucent-minilm-l6-w4")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--products", default="", help="only those whose name begins with this: e4m3 or int8")
    options = parser.parse_args()
    if not (DATA / "candidates").is_dir():
        sys.exit(f"{DATA / 'candidates'} is missing; RELUCENT_TEST_DATA names the folder of the data")
    judgments: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for line in (DATA / "qrels/qrels.dl21-passage.txt").read_text().splitlines():
        qid, _, docno, grade = line.split()
        judgments[qid][docno] = max(int(grade), 0)
    candidates = read_candidates(options.queries)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = SparseBert(options.model, "SDPA", "float32", "cpu")
    exact = score(model, tokenizer, candidates)
    print(f"{sum(map(len, exact.values()))} pairs of {len(exact)} queries; torch {torch.__version__}\n")
    print("| products | nDCG@10 | largest difference of a logit | mean | Kendall's tau: mean | lowest |")
    print("|---|---|---|---|---|---|")
    print(f"| fp32 | {ndcg_10(exact, judgments):.4f} | | | | |", flush=True)
    for name, *rounding in (("e4m3", e4m3, False), ("e4m3, smoothed", e4m3, True), ("int8", int8, False),
                            ("int8, smoothed", int8, True), ("int8, GELU unsigned", int8, False, unsigned_int8),
                            ("int8, smoothed, GELU unsigned", int8, True, unsigned_int8)):
        if not name.startswith(options.products):
            continue
        model.torch = Torch(Products(model, *rounding))
        found = score(model, tokenizer, candidates)
        off = [abs(logit - found[qid][docno]) for qid, of in exact.items() for docno, logit in of.items()]
        taus = [kendalltau(list(of.values()), [found[qid][docno] for docno in of]).statistic
                for qid, of in exact.items()]
        print(f"| {name} | {ndcg_10(found, judgments):.4f} | {max(off):.3f} | {statistics.mean(off):.3f} | "
              f"{statistics.mean(taus):.3f} | {min(taus):.3f} |", flush=True)


if __name__ == "__main__":
    main()
