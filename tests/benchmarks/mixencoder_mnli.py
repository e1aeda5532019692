"""The column MNLI of MixEncoder's Table 2: Cross-BERT and MixEncoder-a, -b, -c as classifiers of pairs.

PYTHONPATH=python/src python tests/benchmarks/mixencoder_mnli.py FOLDER [--steps 1000] [--train TSV --dev TSV]
    [--base BERT] [SECTION.KEY=VALUE ...]

Trains each with relucent-train, lets `relucent classify` label the pairs of --dev in fp32, and compares its logits and
accuracy with an independent computation of the same checkpoint: transformers for Cross-BERT, and for the MixEncoders
the paper's equations as tests/goldens/classifiers/make.py has them. Fails if a label differs where the logits are not
closer than 1e-4 to each other, or a logit by more than 1e-4 (relative for logits above 1).

Without files of pairs, it generates short sentences and hypotheses. Without --base, the base is tiny: three random
layers of 64 numbers per token, with the bundled checkpoint's embeddings of words, projected. The same command resumes.
Needs transformers and what training needs (docs/training.md).
"""
import argparse
import importlib.util
import json
import pathlib
import random
import shutil
import subprocess
import sys

import torch
import transformers
from mixencoder_figure4 import write_base
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
LABELS = ["entailment", "neutral", "contradiction"]
PEOPLE = {"a man": "a person", "a woman": "a person", "a teacher": "an adult", "a nurse": "an adult",
          "a boy": "a child", "a girl": "a child"}
ACTIONS = {"plays the guitar": "makes music", "sings a song": "makes music", "reads a novel": "reads a book",
           "runs very fast": "runs", "sleeps deeply": "sleeps", "eats an apple": "eats some fruit",
           "paints a wall": "is busy painting", "drives a truck": "drives a vehicle", "swims": "is in the water"}
PLACES = {"in the park": "outdoors", "in the garden": "outdoors", "on the street": "outdoors",
          "in the kitchen": "indoors", "in the office": "indoors", "at the library": "indoors"}
DETAILS = ["with a friend", "before lunch", "for the first time", "after a long day", "on a Sunday", "in a red shirt"]
VARIANTS = {"MixEncoder-a": 1, "MixEncoder-b": 3, "MixEncoder-c": 3}


def generated(generator: random.Random) -> tuple[str, str, str]:
    """A sentence, a hypothesis and its label, which follows from the words of both and of neither alone."""
    label = generator.choice(LABELS)
    person, action, place = (generator.choice(list(of)) for of in (PEOPLE, ACTIONS, PLACES))
    detail = generator.choice(DETAILS)
    sentence = f"{person} {action} {place} {detail}"

    def general(word: str, words: dict[str, str]) -> str:
        return generator.choice([word, words[word]])

    parts = [general(person, PEOPLE), general(action, ACTIONS), general(place, PLACES),
             generator.choice([detail, ""])]
    if label == "neutral":  # the sentence leaves open whether that is so
        parts[3] = generator.choice([one for one in DETAILS if one != detail])
    elif label == "contradiction" and generator.random() < 0.5:
        parts[1] = general(generator.choice([one for one in ACTIONS if ACTIONS[one] != ACTIONS[action]]), ACTIONS)
    elif label == "contradiction":
        parts[2] = general(generator.choice([one for one in PLACES if PLACES[one] != PLACES[place]]), PLACES)
    return sentence, " ".join(part for part in parts if part), label


def write_pairs(path: pathlib.Path, count: int) -> None:
    generator = random.Random(path.name)
    path.write_text("".join("\t".join(generated(generator)) + "\n" for _ in range(count)))


def read_pairs(path: pathlib.Path) -> list[tuple[str, str, int]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(first, second, LABELS.index(label)) for first, second, label in rows]


class Cross:
    """A checkpoint of Cross-BERT as transformers computes it."""

    def __init__(self, folder: pathlib.Path):
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def logits(self, first: str, second: str) -> list[float]:
        encoded = self.tokenizer(first, second, truncation=True, max_length=128, return_tensors="pt")
        with torch.no_grad():
            return self.model(**encoded).logits[0].tolist()


class Mix:
    """A checkpoint of a MixEncoder as the paper's equations have it."""

    def __init__(self, folder: pathlib.Path):
        spec = importlib.util.spec_from_file_location("equations", ROOT / "tests/goldens/classifiers/make.py")
        assert spec and spec.loader
        equations = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(equations)
        self.config = json.loads((folder / "config.json").read_text())
        equations.LAYERS, equations.HIDDEN, equations.HEADS = (
            self.config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
        self.model = equations.Mix(self.config, load_file(folder / "model.safetensors"))
        self.tokenizer = transformers.BertTokenizer.from_pretrained(folder)

    def _ids(self, text: str, limit: str) -> list[int]:
        return self.tokenizer(text, truncation=True, max_length=self.config[limit])["input_ids"]

    def logits(self, first: str, second: str) -> list[float]:
        with torch.no_grad():
            return self.model.outputs(self._ids(first, "query_max_length"), self._ids(second, "candidate_max_length"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1000, help="of each model, with 32 pairs")
    parser.add_argument("--train", type=pathlib.Path, help="TSV: text, text, label")
    parser.add_argument("--dev", type=pathlib.Path, help="likewise")
    parser.add_argument("--base", type=pathlib.Path, help="a BERT's folder")
    parser.add_argument("--relucent", default="relucent", help="the program")
    parser.add_argument("settings", nargs="*", help="of all trainings, as relucent-train takes them")
    parsed = parser.parse_intermixed_args()
    if (parsed.train is None) != (parsed.dev is None):
        parser.error("--train and --dev go together")
    work, relucent = parsed.folder.resolve(), shutil.which(parsed.relucent) or parsed.relucent
    work.mkdir(parents=True, exist_ok=True)
    train, dev, base = parsed.train or work / "train.tsv", parsed.dev or work / "dev.tsv", parsed.base or work / "base"
    if not parsed.train:
        write_pairs(train, 6000)
        write_pairs(dev, 600)
    of_base = ["training.learning_rate=2e-5"] if parsed.base else ["model.dropout=0", "training.learning_rate=1e-3"]
    if not parsed.base and not base.exists():
        write_base(base, 3)
    layers = json.loads((base / "config.json").read_text())["num_hidden_layers"]
    pairs = read_pairs(dev)

    def run(*arguments: object) -> str:
        return subprocess.run([*map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout

    print("| | pairs | accuracy | accuracy, independent | labels that differ | logits differ by at most |\n"
          "|---|---|---|---|---|---|", flush=True)
    wrong = []
    for name in ("Cross-BERT", *VARIANTS):
        start, output = base, work / name
        last = ",".join(str(layer) for layer in range(max(0, layers - VARIANTS.get(name, 0)), layers))
        if name in VARIANTS:
            start = work / f"{name}-base"
            if not start.exists():
                run(relucent, "model", "init", "--from", base, "--as", "mixencoder", "--labels", ",".join(LABELS),
                    "--layers", last, *(["--vectors", 2] if name.endswith("c") else []), "--query-length", 128,
                    "--candidate-length", 128, start)
        if not (output / "config.json").exists():
            of_kind = [] if name in VARIANTS else ["model.pattern=full", f"model.labels={json.dumps(LABELS)}"]
            run(sys.executable, "-m", "relucent_search.train", f"output={output}", f"program={relucent}",
                f"model.base={start}", "model.max_length=128", f"data.labelled={train.resolve()}",
                "loss.cross_entropy=1", "training.queries=32", f"training.steps={parsed.steps}",
                "training.log_every=100", *of_kind, *of_base, *parsed.settings)
        found = work / f"{name}.labels.tsv"
        printed = json.loads(run(relucent, "classify", "--input", dev, "--output", found, "--model", output, "--quiet",
                                 "--json", "--precision", "fp32"))
        rows = [line.split("\t") for line in found.read_text().splitlines()]
        independent = Cross(output) if name == "Cross-BERT" else Mix(output)
        correct = differ = 0
        worst = 0.0
        for (first, second, label), (chosen, *logits) in zip(pairs, rows, strict=True):
            expected = independent.logits(first, second)
            best = max(range(len(LABELS)), key=lambda i: expected[i])
            correct += best == label
            if LABELS[best] != chosen:
                differ += 1
                if expected[best] - expected[LABELS.index(chosen)] > 1e-4:
                    wrong.append(f"{name}: {first!r}, {second!r}: {chosen}, but {LABELS[best]} by {expected}")
            worst = max(worst, *(abs(float(logit) - of) / max(1.0, abs(of))
                                 for logit, of in zip(logits, expected, strict=True)))
        if worst > 1e-4:
            wrong.append(f"{name}: logits differ by up to {worst:.2g}")
        print(f"| {name} | {len(pairs)} | {printed['accuracy']:.4f} | {correct / len(pairs):.4f} | {differ} | "
              f"{worst:.1e} |", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
