"""Times Relucent's late interaction against PyLate's on ColBERTs, or its embedding models against
sentence-transformers' (--library), of usual sizes with random weights, which the library makes and both read: encoding
texts as an index does, and reranking candidates whose vectors are stored, from the query's text to the scores. Both use
the CPU and the same number of threads; the library computes in fp32 and has its vectors as tensors in memory, Relucent
as an index stores them (fp16). A size is timed only if both gave the same scores in fp32.
"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from compare import processor

SIZES = {"minilm": (384, 6, 12, 96), "base": (768, 12, 12, 128)}  # hidden size, layers, heads, size of a vector
TOLERANCE = 1e-4  # relative to the largest score


def make_encoder(size: str, vocabulary: pathlib.Path, folder: pathlib.Path) -> None:
    import tokenizers
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    hidden, layers, heads, _ = SIZES[size]
    torch.manual_seed(1)
    entries = vocabulary.read_text(encoding="utf-8").splitlines()
    BertModel(BertConfig(vocab_size=len(entries), hidden_size=hidden, num_hidden_layers=layers,
                         num_attention_heads=heads, intermediate_size=4 * hidden)).save_pretrained(folder)
    words = tokenizers.BertWordPieceTokenizer({entry: i for i, entry in enumerate(entries)})
    PreTrainedTokenizerFast(tokenizer_object=words._tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
                            sep_token="[SEP]", mask_token="[MASK]", model_max_length=512).save_pretrained(folder)


class PyLate:
    package = "pylate"

    def __init__(self, size: str, encoder: pathlib.Path, folder: pathlib.Path):
        from pylate import models

        models.ColBERT(str(encoder), embedding_size=SIZES[size][3], device="cpu").save_pretrained(str(folder))
        self.model = models.ColBERT(str(folder), device="cpu")

    def encode(self, documents: list[str]):
        return self.model.encode(documents, is_query=False, batch_size=32, convert_to_tensor=True,
                                 show_progress_bar=False)

    def stored(self, vectors, count: int):
        return [vectors[i % len(vectors)] for i in range(count)]

    def rerank(self, query: str, vectors) -> list[float]:
        from pylate import rank

        ids = [[str(i) for i in range(len(vectors))]]
        of_query = self.model.encode([query], is_query=True, convert_to_tensor=True, show_progress_bar=False)
        found = rank.rerank(documents_ids=ids, queries_embeddings=of_query, documents_embeddings=[vectors])[0]
        scores = {int(one["id"]): float(one["score"]) for one in found}
        return [scores[i] for i in range(len(vectors))]


class SentenceTransformers:
    package = "sentence-transformers"

    def __init__(self, size: str, encoder: pathlib.Path, folder: pathlib.Path):
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import Normalize, Pooling, Transformer

        modules = [Transformer(str(encoder)), Pooling(SIZES[size][0], "mean"), Normalize()]
        SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
        self.model = SentenceTransformer(str(folder), device="cpu")

    def encode(self, documents: list[str]):
        return self.model.encode_document(documents, batch_size=32, convert_to_tensor=True, show_progress_bar=False)

    def stored(self, vectors, count: int):
        return vectors.repeat(-(-count // len(vectors)), 1)[:count]

    def rerank(self, query: str, vectors) -> list[float]:
        return self.model.similarity(self.model.encode_query(query, convert_to_tensor=True), vectors)[0].tolist()


LIBRARIES = {"pylate": PyLate, "sentence-transformers": SentenceTransformers}


def milliseconds(work, runs: int) -> float:
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


class Relucent:
    def __init__(self, options, folder: pathlib.Path):
        self.options, self.folder = options, folder

    def run(self, *command: str, precision: str = "fp32") -> str:
        return subprocess.run([self.options.program, *command, "--model", str(self.folder / "model"), "--device", "cpu",
                               "--precision", precision, "--threads", str(self.options.threads)],
                              check=True, capture_output=True, text=True).stdout

    def bench(self, *more: str) -> dict[str, float]:
        """Milliseconds by name."""
        options = self.options
        rows = json.loads(self.run("bench", "late-interaction", "--json", "--texts", str(options.texts), "--tokens",
                                   str(options.tokens), "--candidates", str(options.candidates), "--runs",
                                   str(options.runs), *more, precision=options.precision))
        medians = {row["name"]: row["median_ms"] for row in rows}
        return {"encode": next(ms for name, ms in medians.items() if name.startswith("encode")),
                "rerank": next(ms for name, ms in medians.items() if " fp16 " in name)}

    def texts(self) -> tuple[str, list[str]]:
        path = self.folder / "texts.jsonl"
        self.bench("--write-texts", str(path))
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return rows[0]["query"], [row["text"] for row in rows]

    def scores(self, query: str, documents: list[str]) -> list[float]:
        source, answers = self.folder / "pairs.jsonl", self.folder / "scores.tsv"
        source.write_text("".join(json.dumps({"qid": "1", "query": query, "docno": str(i), "text": text}) + "\n"
                                  for i, text in enumerate(documents)), encoding="utf-8")
        self.run("rerank", "--quiet", "--input", str(source), "--output", str(answers))
        scores = {int(docno): float(score) for _, docno, score in map(str.split, answers.read_text().splitlines())}
        return [scores[i] for i in range(len(documents))]


def compare(size: str, options) -> list[dict]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_encoder(size, options.vocabulary, folder / "encoder")
        theirs = LIBRARIES[options.library](size, folder / "encoder", folder / "model")
        ours = Relucent(options, folder)
        query, documents = ours.texts()
        vectors = theirs.encode(documents)
        wanted, found = theirs.rerank(query, vectors), ours.scores(query, documents)
        difference = max(abs(a - b) for a, b in zip(wanted, found)) / max(map(abs, wanted))
        if difference > TOLERANCE:
            raise SystemExit(f"{size}: the scores differ by {difference:g} of the largest")
        candidates = theirs.stored(vectors, options.candidates)
        times = {"encode": ([], []), "rerank": ([], [])}

        def time_ours():
            for kind, ms in ours.bench().items():
                times[kind][0].append(ms)

        def time_theirs():
            times["encode"][1].append(milliseconds(lambda: theirs.encode(documents), options.runs))
            times["rerank"][1].append(milliseconds(lambda: theirs.rerank(query, candidates), options.runs))

        for number in range(options.rounds):
            for work in (time_ours, time_theirs) if number % 2 == 0 else (time_theirs, time_ours):
                work()
        medians = {kind: [statistics.median(each) for each in both] for kind, both in times.items()}
        return [{"size": size, "task": f"encode {options.texts} texts of {options.tokens} tokens",
                 "relucent_ms": medians["encode"][0], "peer_ms": medians["encode"][1], "difference": difference},
                {"size": size, "task": f"rerank {options.candidates} stored candidates",
                 "relucent_ms": medians["rerank"][0], "peer_ms": medians["rerank"][1], "difference": difference}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--vocabulary", type=pathlib.Path, required=True)
    parser.add_argument("--library", default="pylate", choices=LIBRARIES)
    parser.add_argument("--precision", default="fp32", help="of Relucent's times")
    parser.add_argument("--sizes", default="minilm,base", help="some of minilm,base")
    parser.add_argument("--texts", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=180)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3, help="each with both, in turns")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    rows = [row for size in options.sizes.split(",") for row in compare(size, options)]
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        return
    package = LIBRARIES[options.library].package
    print(f"{processor()}, {options.threads} threads; {package} {importlib.metadata.version(package)}, "
          f"PyTorch {importlib.metadata.version('torch')}; medians of {options.rounds} rounds\n")
    print(f"| model | task | {package} ms | Relucent {options.precision} ms | ratio |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['size']} | {row['task']} | {row['peer_ms']:.0f} | {row['relucent_ms']:.1f} | "
              f"{row['peer_ms'] / row['relucent_ms']:.2f} |")


if __name__ == "__main__":
    main()
