"""Every command that writes, with what it may leave behind: what the tests of faults and of kills share."""
import hashlib
import json
import os
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

WORDS = "river stone lamp winter boat quick gold index".split()
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("RELUCENT_", "LD_"))}
# What unfinished files are called; the next run of the command must not leave any.
UNFINISHED = re.compile(r"\.tmp\d*$|\.part$|\.partial-\d+$|\.incomplete$")


def documents(count, first=0, seed=1):
    rng = random.Random(seed)
    return "".join(f"d{first + i}\tcommon {' '.join(rng.choices(WORDS, k=rng.randrange(2, 8)))}\n"
                   for i in range(count))


def write_bert(folder):
    """A BERT of random weights with one layer and a vocabulary of letters."""
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + [f"[unused{i}]" for i in range(4)] + [
        letter for letter in "abcdefghijklmnopqrstuvwxyz"] + [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    hidden = 32
    shapes = {"embeddings.word_embeddings.weight": (len(words), hidden),
              "embeddings.position_embeddings.weight": (128, hidden),
              "embeddings.token_type_embeddings.weight": (2, hidden)}
    layer = "encoder.layer.0."
    for name in (layer + "attention.self.query", layer + "attention.self.key", layer + "attention.self.value",
                 layer + "attention.output.dense", layer + "intermediate.dense", layer + "output.dense",
                 "pooler.dense"):
        shapes[name + ".weight"], shapes[name + ".bias"] = (hidden, hidden), (hidden,)
    for name in ("embeddings.LayerNorm", layer + "attention.output.LayerNorm", layer + "output.LayerNorm"):
        shapes[name + ".weight"] = shapes[name + ".bias"] = (hidden,)
    shapes = {f"bert.{name}": shape for name, shape in shapes.items()}
    shapes["classifier.weight"], shapes["classifier.bias"] = (1, hidden), (1,)
    rng, header, data = random.Random(1), {}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = struct.pack(f"<{count}f", *(rng.gauss(0, 0.2) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}')
    (folder / "config.json").write_text(json.dumps(
        {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": hidden,
         "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": hidden, "vocab_size": len(words),
         "max_position_embeddings": 128, "num_labels": 1, "id2label": {"0": "LABEL_0"}}))


class Failed(Exception):
    """A reader fails."""


class Absent(Exception):
    """What a writer needs is not on this machine."""


class Writer:
    """A command. `prepare` makes what it starts from, once; each trial has a copy of it as its folder.

    `observe` answers with what readers find, whatever it is stored in, or raises Failed if it is damaged. After a fault
    or a kill it is what it was before or `whole`, which the undisturbed command leaves, or what `is_between` accepts;
    after the next run it is `whole`.
    """
    name = ""
    names = ("a.index",)  # what an error may name instead of the file
    is_cache = False  # whether the command succeeds if it cannot write

    def tells(self, folder):
        """Whether the output of a command that succeeded names what failed."""
        return False

    def __init__(self, program, size):
        self.program, self.size = program, size

    def run(self, folder, *arguments, codes=(0,)):
        result = subprocess.run([self.program, *map(str, arguments)], cwd=folder, env=ENVIRONMENT, text=True,
                                capture_output=True, timeout=300, check=False, stdin=subprocess.DEVNULL)
        if result.returncode not in codes:
            raise Failed(f"{' '.join(map(str, arguments))} ended with {result.returncode}: {result.stderr.strip()}")
        return result

    def prepare(self, folder):
        pass

    def command(self):
        return [self.program, *self.arguments()]

    def execute(self, folder, tracer, tracing):
        """The command, which ends; traced if there are options for the tracer."""
        command = [tracer, *tracing, "--", *self.command()] if tracing else self.command()
        return subprocess.run(list(map(str, command)), cwd=folder, env=ENVIRONMENT, text=True, timeout=300,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL)

    def arguments(self):
        raise NotImplementedError

    def after_kill(self, folder):
        """What a user does after a kill before running the command again."""

    def observe(self, folder):
        return files_in(folder)

    def is_between(self, found):
        """Whether the command may leave this when it is stopped on its way."""
        return False

    def is_part(self, found):
        """Whether the command may leave this when its exit code tells of degraded results."""
        return False


def files_in(folder, pattern="**/*"):
    found = {path.relative_to(folder): path for path in sorted(Path(folder).glob(pattern)) if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items()
            if not any(UNFINISHED.search(part) for part in name.parts)}


def fingerprint(folder):
    """A checksum of everything in the folder, so that no state is looked at twice."""
    total = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*")):
        total.update(f"{path.relative_to(folder)}\0".encode())
        if path.is_file():
            content = path.read_bytes()
            total.update(b"%d\0" % len(content) + content)
    return total.hexdigest()


class IndexWriter(Writer):
    """Observed by a search that finds every document, and by `verify`."""
    index, records = "a.index", None

    def make_index(self, folder, *more, index="a.index"):
        (folder / "docs.tsv").write_text(documents(self.size))
        self.run(folder, "index", "--corpus", "tsv", "--input", "docs.tsv", "--index", index, "--commit-every",
                 max(1, self.size // 2), "--threads", 1, "--quiet", *more)

    def observe(self, folder, index=None):
        name = index or self.index
        if not any((folder / name).glob("segments_*")):
            return None
        report = self.run(folder, "verify", "--index", name, "--quiet", "--json", codes=(0, 3))
        if report.returncode != 0:
            raise Failed(f"verify ended with 3: {report.stdout} {report.stderr}")
        answer = json.loads(self.run(folder, "search", "--index", name, "--no-rescore", "--json", "--hits",
                                     4 * self.size + 8, "common").stdout)
        found = {hit["id"]: hit["text"] for hit in answer["hits"]}
        if len(found) != len(answer["hits"]):
            raise Failed("an id occurs twice")
        return found


class Index(IndexWriter):
    name = "index"

    def prepare(self, folder):
        (folder / "docs.tsv").write_text(documents(self.size))

    def arguments(self):
        return ["index", "--corpus", "tsv", "--input", "docs.tsv", "--index", "a.index", "--commit-every",
                str(max(1, self.size // 2)), "--threads", "1", "--quiet", "--resume"]

    def is_between(self, found):
        rows = dict(line.split("\t") for line in documents(self.size).splitlines())
        return found is not None and all(rows.get(name) == text for name, text in found.items())


class TokenIds(Index):
    name = "index --token-ids"

    def prepare(self, folder):
        super().prepare(folder)
        write_bert(folder / "bert")

    def arguments(self):
        return [*super().arguments(), "--token-ids", "bert"]


class Update(IndexWriter):
    name = "index --update"

    def prepare(self, folder):
        self.make_index(folder)
        (folder / "more.tsv").write_text(documents(self.size, self.size // 2, seed=2))

    def arguments(self):
        return ["index", "--corpus", "tsv", "--input", "more.tsv", "--index", "a.index", "--update", "--commit-every",
                str(max(1, self.size // 2)), "--threads", "1", "--quiet"]

    def is_between(self, found):
        old = dict(line.split("\t") for line in documents(self.size).splitlines())
        new = dict(line.split("\t") for line in documents(self.size, self.size // 2, seed=2).splitlines())
        return (found is not None and old.keys() <= found.keys() and
                all(text in (old.get(name), new.get(name)) for name, text in found.items()))


class Delete(IndexWriter):
    name = "delete"

    def prepare(self, folder):
        self.make_index(folder)
        (folder / "ids").write_text("".join(f"d{i}\n" for i in range(0, self.size, 3)))

    def arguments(self):
        return ["delete", "--index", "a.index", "--input", "ids"]


class Snapshot(IndexWriter):
    name = "snapshot"
    index, names, more = "copy.index", ("a.index", "copy.index"), ()

    def prepare(self, folder):
        self.make_index(folder)

    def arguments(self):
        return ["snapshot", "--index", "a.index", "--output", "copy.index", *self.more]

    def after_kill(self, folder):
        if (folder / "copy.index").exists():  # killed after it was put in place: it is whole, as `observe` has seen
            shutil.rmtree(folder / "copy.index")

    def observe(self, folder, index=None):
        if super().observe(folder, "a.index") is None:
            raise Failed("the index that was copied is gone")
        if (folder / "copy.index").exists() and not any((folder / "copy.index").glob("segments_*")):
            raise Failed("the copy does not contain an index")
        return super().observe(folder)


class SnapshotCopy(Snapshot):
    name, more = "snapshot --copy", ("--copy",)


class Records(IndexWriter):
    """Files next to an index's segments."""

    def observe(self, folder, index=None):
        return super().observe(folder), files_in(folder, f"a.index/relucent-_*.{self.records}")

    def is_between(self, found):
        return True  # some segments have them; a damaged file is found by `verify`


class Encode(Records):
    name, records = "encode", "embeddings"

    def prepare(self, folder):
        self.make_index(folder)
        self.make_model(folder)

    def make_model(self, folder):
        write_bert(folder / "bert")
        self.run(folder, "model", "init", "--from", "bert", "--as", "mixencoder", "--query-length", 16,
                 "--candidate-length", 64, "model")
        shutil.rmtree(folder / "bert")

    def arguments(self):
        return ["encode", "--index", "a.index", "--model", "model", "--threads", "1", "--quiet"]


class ColBert(Encode):
    name = "encode with ColBERT"

    def make_model(self, folder):
        goldens = Path(os.environ.get("RELUCENT_GOLDENS") or Path(__file__).resolve().parents[3] / "shared/goldens")
        checkpoint = goldens / "rerankers/colbert-stanford"
        if not checkpoint.exists():
            raise Absent(checkpoint)
        shutil.copytree(checkpoint, folder / "model")


class Graphs(Records):
    name, records = "graphs", "graphs"

    def prepare(self, folder):
        self.make_index(folder)
        write_bert(folder / "bert")
        self.run(folder, "model", "init", "--from", "bert", "--as", "mir", "--window", 24, "--stride", 16,
                 "--document-length", 64, "model")
        shutil.rmtree(folder / "bert")

    def arguments(self):
        return ["graphs", "--index", "a.index", "--model", "model", "--threads", "1", "--quiet"]


class Lengths(Writer):
    """The lengths of a field, which a search in an index of another program keeps for the next search."""
    name = "lengths of a field"
    is_cache = True

    def prepare(self, folder):
        formats = Path(__file__).resolve().parents[1] / "goldens/formats"
        shutil.copytree(formats / "foreign", folder / "a.index")
        shutil.copy(formats / "foreign.toml", folder)
        for path in (folder / "a.index").glob("*.lengths"):
            path.unlink()

    def arguments(self):
        return ["search", "--index", "a.index", "--no-rescore", "--json", "--config", "foreign.toml", "stone river"]

    def observe(self, folder):
        kept = any((folder / "a.index").glob("*.lengths"))
        # In a copy, so that this search does not keep them.
        copy = folder.with_name(folder.name + "-copy")
        shutil.copytree(folder, copy)
        try:
            hits = json.loads(self.run(copy, *self.arguments()).stdout)["hits"]
        finally:
            shutil.rmtree(copy)
        return [(hit["id"], hit["score"]) for hit in hits], kept


class Experiment(Writer):
    name = "experiment"
    names = ("cache", "study.toml")

    def prepare(self, folder):
        write_bert(folder / "model")
        rng = random.Random(5)
        lines, qrels = [], []
        for topic in range(max(2, self.size // 3)):
            for rank in range(1, 4):
                lines.append({"qid": str(topic), "query": WORDS[topic % 8], "docno": f"d{topic}-{rank}",
                              "text": " ".join(rng.choices(WORDS, k=5)), "rank": rank, "score": 10 - rank})
            qrels.append(f"{topic} 0 d{topic}-2 1\n")
        (folder / "rerank.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / "qrels.txt").write_text("".join(qrels))
        (folder / "study.toml").write_text(
            'title = "a study"\nreference = "w"\nmeasures = ["nDCG@10"]\n[[models]]\nname = "model"\n'
            'folder = "model"\n[[tasks]]\nname = "made up"\ncandidates = "rerank.jsonl"\nqrels = "qrels.txt"\n'
            '[[rows]]\nname = "first"\nkind = "first stage"\n'
            '[[rows]]\nname = "w"\nmodels = ["model"]\nwindows = [4]\ndevices = ["cpu"]\nprecisions = ["fp32"]\n')

    def arguments(self):
        return ["experiment", "run", "study.toml", "--cache", "cache", "--runs", "runs", "--format", "csv", "--output",
                "table.csv"]

    def observe(self, folder):
        # The cache has times; without them, the measures are what it was computed for.
        keys = sorted(line.split(" | ")[0] for name in (folder / "cache").glob("*.results")
                      for line in name.read_text().splitlines() if " | " in line)
        table = folder / "table.csv"
        rows = [line.split(",")[:4] for line in table.read_text().splitlines()] if table.exists() else None
        return keys, rows, files_in(folder, "runs/**/*")

    def tells(self, folder):
        # A row that cannot be computed is a note of the table, which names the file; the others are computed.
        return re.search(r'^note,"row .* is not computed: \S+/', (folder / "table.csv").read_text(), re.MULTILINE)

    def is_between(self, found):
        return True  # every line of the cache has a checksum; what the next run makes of them is compared


class NewCheckpoint(Writer):
    names = ("bert", "new")

    def prepare(self, folder):
        write_bert(folder / "bert")

    def after_kill(self, folder):
        if (folder / "new").exists():
            shutil.rmtree(folder / "new")


class Convert(NewCheckpoint):
    name = "model convert"

    def arguments(self):
        return ["model", "convert", "bert", "new", "--type", "f16"]


class Extend(NewCheckpoint):
    name = "model extend"

    def arguments(self):
        return ["model", "extend", "bert", "new", "--positions", "256"]


class Init(NewCheckpoint):
    name = "model init"

    def arguments(self):
        return ["model", "init", "--from", "bert", "--as", "parade", "--window", "40", "--stride", "30", "new"]


class Runs(IndexWriter):
    output = ""

    def observe(self, folder, index=None):
        return files_in(folder, "out.*")


class SearchRun(Runs):
    name, output = "search --run", "out.run"
    names = ("a.index", "out.run")

    def prepare(self, folder):
        self.make_index(folder)
        rng = random.Random(3)
        (folder / "topics.tsv").write_text("".join(f"{i}\t{' '.join(rng.choices(WORDS, k=2))}\n"
                                                   for i in range(max(3, self.size // 4))))
        (folder / self.output).write_text("an older file\n")

    def arguments(self):
        return ["search", "--index", "a.index", "--no-rescore", "--topics", "topics.tsv", "--run", self.output,
                "--jobs", "1"]

    def is_part(self, found):
        # The run lacks the topics that could not be answered and has the others, whole.
        run, whole = (set(files.get(self.output, b"").splitlines()) for files in (found, self.whole))
        topics = {line.split()[0] for line in run}
        return bool(run) and run == {line for line in whole if line.split()[0] in topics}


class CompressedRuns(Runs):
    name, output = "run convert to .gz", "out.tsv.gz"
    names = ("in.run", "out.tsv.gz")

    def prepare(self, folder):
        (folder / "in.run").write_text("".join(f"{topic} Q0 d{rank} {rank} {9 - rank} tag\n"
                                               for topic in range(self.size) for rank in range(1, 8)))
        (folder / self.output).write_text("an older file\n")

    def arguments(self):
        return ["run", "convert", "in.run", self.output, "--to", "msmarco"]


class Rerank(Runs):
    name, output = "rerank", "out.tsv"
    names = ("in.rerank.jsonl", "out.tsv", "model")

    def prepare(self, folder):
        write_bert(folder / "model")
        (folder / "in.rerank.jsonl").write_text("".join(
            json.dumps({"qid": str(i // 3), "query": "river", "docno": f"d{i}", "text": WORDS[i % 8]}) + "\n"
            for i in range(self.size)))
        (folder / self.output).write_text("an older file\n")

    def arguments(self):
        return ["rerank", "--input", "in.rerank.jsonl", "--output", self.output, "--model", "model", "--quiet",
                "--precision", "fp32", "--device", "cpu"]


class PreloadedTraining:
    """Runs of relucent-train in forks of one process, which ends with this one."""

    def __init__(self, python, module):
        self.lock, program = threading.Lock(), Path(__file__).with_name("preloaded_training.py")
        self.process = subprocess.Popen([python, program, module], cwd="/", env=ENVIRONMENT, text=True, bufsize=1,
                                        stdin=subprocess.PIPE)

    def run(self, folder, arguments, tracing):
        output, error, answer = (folder.with_name(f"{folder.name}.{name}") for name in ("output", "error", "answer"))
        job = {"folder": folder, "arguments": arguments, "tracer": tracing, "output": output, "error": error,
               "answer": answer}
        os.mkfifo(answer)
        pipe = os.open(answer, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with self.lock:
                self.process.stdin.write(json.dumps(job, default=str) + "\n")
            if not select.select([pipe], [], [], 300)[0]:
                raise subprocess.TimeoutExpired(arguments, 300)
            code = int(os.read(pipe, 16))
            return subprocess.CompletedProcess(arguments, code, output.read_text(), error.read_text())
        finally:
            os.close(pipe)
            for file in (output, error, answer):
                file.unlink(missing_ok=True)


class Train(Writer):
    """Checkpoints of relucent-train; needs a Python with PyTorch, named by RELUCENT_PYTHON."""
    name = "relucent-train"
    names = ("recipe.toml", "base", "teacher.jsonl", "qrels.txt", "out")

    def __init__(self, program, size):
        super().__init__(program, size)
        self.preloaded, self.lock = None, threading.Lock()

    def prepare(self, folder):
        self.python = os.environ.get("RELUCENT_PYTHON") or sys.executable
        root = Path(__file__).resolve().parents[2]
        ENVIRONMENT.update(PYTHONPATH=f"{root / 'python/src'}:{root / 'tests/python'}", OMP_NUM_THREADS="1",
                           RELUCENT_PROGRAM=self.program, PYTHONDONTWRITEBYTECODE="1",
                           PYTHONSAFEPATH="1")  # as the installed command, not looking for modules in the folder
        made = subprocess.run([self.python, "-c", "import pathlib, support; here = pathlib.Path(); "
                               "support.write_base(here / 'base'); support.write_teacher(here)"], cwd=folder,
                              env=ENVIRONMENT, capture_output=True, text=True, check=False)
        if "ModuleNotFoundError" in made.stderr:
            raise Absent(f"{self.python}: {made.stderr.strip().splitlines()[-1]}")
        if made.returncode != 0:
            raise Failed(made.stderr)

    def command(self):
        return [self.python, "-m", "relucent_search.train", *self.arguments()]

    def arguments(self):
        return ["recipe.toml", "training.save_every=2", "training.steps=4", "evaluation.every=2"]

    def execute(self, folder, tracer, tracing):
        if not tracer:
            return super().execute(folder, tracer, tracing)
        with self.lock:
            if self.preloaded is None:
                self.preloaded = PreloadedTraining(self.python, f"{tracer}.so")
        return self.preloaded.run(folder, self.arguments(), tracing)

    def observe(self, folder):
        return {name: content for name, content in files_in(folder, "out/*").items() if not name.endswith(".md")}

    def is_between(self, found):
        return True  # until it ends, its state is in out/training; what the next run makes of it is compared


WRITERS = (Index, TokenIds, Update, Delete, Snapshot, SnapshotCopy, Encode, ColBert, Graphs, Lengths, Experiment,
           Convert, Extend, Init, SearchRun, CompressedRuns, Rerank, Train)
