"""Times Relucent's CPU backend against transformers (fp32, the faster of eager and SDPA attention) on one checkpoint of
each family, of a usual size and with random weights.

Both start from the same texts and end at the scores; transformers computes all candidates as one batch, in which
nothing is padded. T5 is monoT5: one step of the decoder, and the log-probability of "true" against "false". Qwen3 reads
the prompt of Qwen3-Reranker besides, some 120 tokens, and its score is the logit of "yes" less that of "no" at the last
token. A family is timed only if both gave the same scores for the texts of all lengths.
"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

import checkpoints
import worker
from checkpoints import FAMILIES, LONGEST
from compare import processor
from settings import timed

TOLERANCE = 1e-4  # of fp32's scores, relative to the largest


PROMPT = ("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
          "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
          "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n"
          "<Document>:")
ANSWER = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


class Refused(Exception):
    """Raised if Relucent cannot compute a checkpoint, or computes something else."""


class Relucent:
    def __init__(self, options, folder: pathlib.Path):
        self.options, self.folder = options, folder

    def command(self, command: list[str], precision: str) -> str:
        settings = ["--model", self.folder, "--device", "cpu", "--precision", precision,
                    "--threads", str(self.options.threads)]
        result = subprocess.run([self.options.program, *command, *settings], capture_output=True, text=True)
        if result.returncode != 0:
            raise Refused(result.stderr.strip() or f"exit status {result.returncode}")
        return result.stdout

    def bench(self, precision: str, length: int, *more: str) -> float:
        output = self.command(["bench", "model", "--json", "--tokens", str(length), "--candidates",
                               str(self.options.candidates), "--runs", str(self.options.runs), *more], precision)
        return json.loads(output)[0]["median_ms"]

    def texts(self, length: int) -> tuple[str, list[str]]:
        """The query and the documents that `bench` times."""
        path = self.folder / "texts.jsonl"
        self.bench("fp32", length, "--write-pairs", str(path))
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return rows[0]["query"], [row["text"] for row in rows]

    def scores(self, precision: str, query: str, documents: list[str]) -> list[float]:
        source, answers = self.folder / "pairs.jsonl", self.folder / "scores.tsv"
        source.write_text("".join(json.dumps({"qid": "1", "query": query, "docno": str(i), "text": text}) + "\n"
                                  for i, text in enumerate(documents)), encoding="utf-8")
        self.command(["rerank", "--quiet", "--input", str(source), "--output", str(answers)], precision)
        scores = {int(docno): float(score) for _, docno, score in map(str.split, answers.read_text().splitlines())}
        return [scores[i] for i in range(len(documents))]


class Transformers:
    def __init__(self, name: str, model, entries: list[str], folder: pathlib.Path):
        import tokenizers

        if name == "qwen3":
            self.name, self.model = name, model
            self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            return
        self.name, self.model, self.numbers = name, model, {entry: i for i, entry in enumerate(entries)}
        self.tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(self.numbers, unk_token="[UNK]"))
        self.tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
        self.tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()

    def inputs(self, query: str, documents: list[str], limit: int) -> dict:
        """Ids of at most `limit` tokens each, cut at the documents' ends, as tensors [documents, tokens]."""
        import torch

        if self.name == "qwen3":
            begin, end = self.ids(PROMPT.format(query=query)), self.ids(ANSWER)
            texts = [self.ids(" " + document)[:limit - len(begin) - len(end)] for document in documents]
            return {"input_ids": torch.tensor([begin + text + end for text in texts])}
        cls, sep = [self.numbers["[CLS]"]], [self.numbers["[SEP]"]]
        if self.name == "t5":
            begin, end = self.ids(f"Query: {query} Document:"), self.ids("Relevant:") + sep
        else:  # XLM-RoBERTa as well: with a vocab.txt Relucent has one separator, which takes no less time than two
            begin, end = cls + self.ids(query) + sep, sep
        room = limit - len(begin) - len(end)
        texts = [encoding.ids[:room] for encoding in self.tokenizer.encode_batch(documents)]
        ids = torch.tensor([begin + text + end for text in texts])  # fails if the lengths differ
        inputs = {"input_ids": ids}
        if self.name in ("bert", "electra"):
            inputs["token_type_ids"] = (torch.arange(ids.shape[1]) >= len(begin)).long().expand(ids.shape)
        if self.name == "t5":
            inputs["decoder_input_ids"] = ids.new_full((len(ids), 1), self.model.config.decoder_start_token_id)
        return inputs

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text).ids

    def score(self, query: str, documents: list[str], limit: int) -> list[float]:
        import torch

        with torch.inference_mode():
            if self.name == "qwen3":
                last = self.model.model(**self.inputs(query, documents, limit)).last_hidden_state[:, -1]
                rows = self.model.lm_head.weight[[self.ids("yes")[0], self.ids("no")[0]]]
                return (last @ (rows[0] - rows[1])).tolist()
            logits = self.model(**self.inputs(query, documents, limit)).logits
            if self.name == "t5":
                answers = logits[:, 0, [self.numbers["true"], self.numbers["false"]]]
                return torch.log_softmax(answers, 1)[:, 0].tolist()
            return logits[:, 0].tolist()

    def attentions(self) -> list[str]:
        """Those of eager and SDPA that transformers has for the family."""
        found = []
        for attention in ("eager", "sdpa"):
            try:
                self.model.set_attn_implementation(attention)
                found.append(attention)
            except (ValueError, NotImplementedError):
                continue
        return found

    def median(self, attention: str, runs: int, *texts) -> float:
        """Times it like `relucent bench`: a run to warm up, then as many timed ones."""
        self.model.set_attn_implementation(attention)
        self.score(*texts)
        return statistics.median(timed(lambda: self.score(*texts)) for _ in range(runs))


def check(relucent: Relucent, peer: Transformers, attentions: list[str], texts: dict, precisions: list[str]) -> dict:
    """The largest relative difference of each precision from transformers; raises Refused where fp32 differs."""
    query = next(iter(texts.values()))[0]
    documents = [document for _, of in texts.values() for document in of]
    expected = {}
    for attention in attentions:
        peer.model.set_attn_implementation(attention)
        expected[attention] = [score for _, of in texts.values() for score in peer.score(query, of, LONGEST)]
    wanted = expected[attentions[0]]
    largest = max(map(abs, wanted))
    if statistics.pstdev(wanted) < 100 * TOLERANCE * largest:
        raise Refused(f"the scores prove nothing: all are near {wanted[0]:.6g}")

    def difference(scores: list[float]) -> float:
        return max(abs(a - b) for a, b in zip(scores, wanted, strict=True)) / largest

    found = {precision: difference(relucent.scores(precision, query, documents))
             for precision in dict.fromkeys(["fp32", *precisions])}
    peers = {attention: difference(scores) for attention, scores in expected.items()}
    for contender, off in {"Relucent fp32": found["fp32"], **peers}.items():
        if not off <= TOLERANCE:
            raise Refused(f"{contender} differs from transformers' {attentions[0]} by {off:.1e} of the largest score, "
                          f"{largest:.4g}: not the same function")
    return found


def measure(options, name: str, texts: dict, scratch: pathlib.Path) -> dict:
    """What was measured of one family; fills `texts`, which are the same for all."""
    folder = scratch / name
    peer = Transformers(name, *checkpoints.make(name, options.vocabulary, folder), folder)
    relucent, attentions = Relucent(options, folder), peer.attentions()
    lengths = [length for length in options.lengths if length >= FAMILIES[name].shortest]
    for length in lengths:
        if length not in texts:
            texts[length] = relucent.texts(length)
    differences = check(relucent, peer, attentions, texts, options.precisions)
    rows = []
    for length in lengths:
        tried = {attention: peer.median(attention, 1, *texts[length], length) for attention in attentions}
        fastest = min(tried, key=tried.get)
        turns = {"transformers": lambda: peer.median(fastest, options.runs, *texts[length], length)}
        turns |= {precision: lambda precision=precision: relucent.bench(precision, length)
                  for precision in options.precisions}
        times = {contender: [] for contender in turns}
        for number in range(options.rounds):
            for contender in list(turns) if number % 2 == 0 else list(reversed(turns)):
                times[contender].append(turns[contender]())
        rows.append({"tokens": length, "attention": fastest, "ms": times,
                     "median_ms": {contender: statistics.median(of) for contender, of in times.items()}})
        print(f"{name}: {length} tokens done", file=sys.stderr, flush=True)
    return {"family": name, "title": FAMILIES[name].title, "relative_differences": differences, "lengths": rows}


def print_table(options, families: list[dict], refused: dict[str, str]) -> None:
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ("torch", "transformers"))
    print(f"{options.candidates} candidates, {options.threads} threads, {processor()}.")
    print(f"{versions} in fp32. Medians over rounds ({options.rounds}, in turns, each of {options.runs} timed runs "
          "after one to warm up), from text to scores.")
    print(f"Random weights; vocabularies cut to about {checkpoints.WORDS:,} words. In brackets: how many times as fast "
          "as transformers.\n")
    print("| family | tokens | transformers ms (attention) |" +
          "".join(f" Relucent {precision} ms |" for precision in options.precisions))
    print("|---|---|---|" + "---|" * len(options.precisions))
    for family in families:
        for row in family["lengths"]:
            peer, *own = (row["median_ms"][contender] for contender in ("transformers", *options.precisions))
            print(f"| {family['title']} | {row['tokens']} | {peer:,.1f} ({row['attention']}) |" +
                  "".join(f" {time:,.1f} ({peer / time:.2f}) |" for time in own))
    print()
    for family in families:
        differences = ", ".join(f"{off:.1e} ({name})" for name, off in family["relative_differences"].items())
        print(f"{family['title']}: scores differ from transformers' by at most {differences} of the largest.")
    for name, why in refused.items():
        print(f"REFUSED {FAMILIES[name].title}: {why}")


def main() -> int:
    def names(text: str) -> list[str]:
        return [name.strip() for name in text.split(",")]

    def lengths(text: str) -> list[int]:
        return sorted({int(length) for length in names(text)})

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=pathlib.Path, help="relucent; default: the release build's")
    parser.add_argument("--vocabulary", required=True, type=pathlib.Path, help="vocab.txt from which words are taken")
    parser.add_argument("--families", type=names, default=list(FAMILIES), help=f"by commas, of {', '.join(FAMILIES)}")
    parser.add_argument("--lengths", type=lengths, default=[32, 64, 128, 256, 512],
                        help=f"tokens of an input, special ones included, by commas: 32 to {LONGEST}")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1,
                        help="timed runs of each contender a round, after one to warm up")
    parser.add_argument("--precisions", type=names, default=["fp32", "int16", "bf16", "int8"],
                        help="of Relucent, by commas")
    parser.add_argument("--json", action="store_true", help="print JSON, with the times of all rounds")
    options = parser.parse_args()
    if unknown := [name for name in options.families if name not in FAMILIES]:
        parser.error(f"no family is called {unknown[0]}; known are {', '.join(FAMILIES)}")
    if not 32 <= options.lengths[0] <= options.lengths[-1] <= LONGEST:
        parser.error(f"--lengths must be 32 to {LONGEST}")
    if min(options.candidates - 1, options.threads, options.rounds, options.runs) < 1:
        parser.error("--candidates must be at least 2; --threads, --rounds and --runs at least 1")
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program} is missing; build the release preset first: ./demo.sh or ./test.sh")
    worker.limit_threads(options.threads)
    os.environ["HF_HUB_OFFLINE"] = "1"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes

    import torch
    import transformers

    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    families, refused, texts = [], {}, {}
    for name in options.families:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                families.append(measure(options, name, texts, pathlib.Path(scratch)))
            except Refused as error:
                refused[name] = str(error)
                print(f"{name}: {error}", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps({"candidates": options.candidates, "threads": options.threads, "processor": processor(),
                          "families": families, "refused": refused}, indent=2))
    else:
        print_table(options, families, refused)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
