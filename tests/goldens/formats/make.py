"""Freezes an index and everything next to it as one version of Relucent writes it, with that version's answers.

    python3 tests/goldens/formats/make.py PROGRAM FOREIGN FOLDER

PROGRAM: the `relucent` of the version to freeze. FOREIGN: foreign.cpp, compiled. FOLDER: must not exist.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENTS = 20
TIME = 1_700_000_000_000_000_000  # of the foreign index's files, as its sidecars record it, in nanoseconds
QUERIES = ["how long does cooked rice keep", "brown rice cooker", "bacteria poison overnight bread"]
# Options of each search whose answer is frozen; {formats}: the frozen folder. The index is the first part of the name;
# a MixEncoder's embeddings, in the precision that the name ends with, are copied to it.
MIXENCODER = ["--model", "{formats}/mixencoder", "--device", "ref"]
SEARCHES = {
    "index.bm25": ["--no-rescore"],
    "index.bert": ["--model", "{formats}/bert", "--device", "ref"],
    "index.mixencoder-fp32": MIXENCODER,
    "index.mixencoder-fp16": MIXENCODER,
    "index.mixencoder-int8": MIXENCODER,
    "index.mir": ["--model", "{formats}/mir", "--device", "ref"],
    "foreign.bm25": ["--no-rescore", "--config", "{formats}/foreign.toml"],
}


def tensor(shape, generator):
    count = 1
    for size in shape:
        count *= size
    return shape, struct.pack(f"<{count}f", *(generator.randrange(-1000, 1001) / 1250 for _ in range(count)))


def write_bert(folder):
    """A random BERT of 8 features whose vocabulary is the letters, as words and as continuations."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]", *letters,
                  *("##" + letter for letter in letters)]
    generator, tensors = random.Random(1), {}

    def linear(name, rows, columns):
        tensors[name + ".weight"] = tensor([rows, columns], generator)
        tensors[name + ".bias"] = tensor([rows], generator)

    def norm(name):
        tensors[name + ".weight"] = tensor([8], generator)
        tensors[name + ".bias"] = tensor([8], generator)

    for name, rows in (("word", len(vocabulary)), ("position", 96), ("token_type", 2)):
        tensors[f"bert.embeddings.{name}_embeddings.weight"] = tensor([rows, 8], generator)
    norm("bert.embeddings.LayerNorm")
    for i in range(2):
        layer = f"bert.encoder.layer.{i}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            linear(layer + part, 8, 8)
        norm(layer + "attention.output.LayerNorm")
        linear(layer + "intermediate.dense", 12, 8)
        linear(layer + "output.dense", 8, 12)
        norm(layer + "output.LayerNorm")
    linear("bert.pooler.dense", 8, 8)
    linear("classifier", 1, 8)
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": len(vocabulary),
              "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
              "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": 96, "type_vocab_size": 2,
              "num_labels": 1}
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true, "model_max_length": 96}\n')
    (folder / "vocab.txt").write_text("".join(word + "\n" for word in vocabulary))
    header, data = {}, b""
    for name, (shape, content) in sorted(tensors.items()):
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def spread_weights(file):
    """Replaces a checkpoint's weights by larger random ones: with those of `model init`, all documents score alike."""
    content = file.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header, generator, data = json.loads(content[8:start]), random.Random(2), bytearray(content[start:])
    for name, entry in header.items():
        if name != "__metadata__":
            assert entry["dtype"] == "F32"
            data[slice(*entry["data_offsets"])] = tensor(entry["shape"], generator)[1]
    file.write_bytes(content[:start] + data)


def run(program, *arguments):
    print("relucent", *arguments, file=sys.stderr)
    return subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                          encoding="utf-8").stdout


def answers(program, formats, name, options):
    """For each query, the hits' ids, scores and logits."""
    index = formats / name.split(".")[0]
    found = {}
    for kept in formats.glob("embeddings-" + name.rpartition("-")[2]):
        shutil.copytree(kept, index, dirs_exist_ok=True)
    for query in QUERIES:
        out = run(program, "search", "--index", index, "--json", "--hits", DOCUMENTS,
                  *(option.format(formats=formats) for option in options), query)
        result = json.loads(out)
        found[query] = [[hit["id"], hit["score"], hit.get("logit")] for hit in result["hits"]]
        assert not result["degraded"], result
    for path in index.glob("*.embeddings"):
        path.unlink()
    return found


def set_times(folder):
    for path in folder.iterdir():
        os.utime(path, ns=(TIME, TIME))


def main():
    program, foreign, formats = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    formats.mkdir()
    os.environ["XDG_CACHE_HOME"] = str(formats / "cache")
    collection = (HERE.parents[2] / "index_tools/demo/collection.tsv").read_text().splitlines(keepends=True)
    (formats / "documents.tsv").write_text("".join(collection[:DOCUMENTS]))
    (formats / "foreign.toml").write_text('[first_stage]\nanalyzer = "whitespace"\n[rescorer]\nenabled = false\n')
    (formats / "fp32.toml").write_text('[rescorer]\nprecision = "fp32"\n')
    write_bert(formats / "bert")
    run(program, "model", "init", "--from", formats / "bert", "--as", "mixencoder", "--query-length", 40,
        "--candidate-length", 90, formats / "mixencoder")
    run(program, "model", "init", "--from", formats / "bert", "--as", "mir", "--window", 24, "--stride", 18,
        "--document-length", 120, formats / "mir")
    for family in ("mixencoder", "mir"):
        spread_weights(formats / family / "model.safetensors")

    index = formats / "index"
    run(program, "index", "--corpus", "tsv", "--input", formats / "documents.tsv", "--index", index, "--threads", 1,
        "--commit-every", 9, "--token-ids", formats / "bert")
    run(program, "graphs", "--index", index, "--model", formats / "mir")
    for precision in ("fp32", "fp16", "int8"):
        run(program, "encode", "--index", index, "--model", formats / "mixencoder", "--config", formats / "fp32.toml",
            "--device", "cpu", "--precision", precision)
        kept = formats / f"embeddings-{precision}"
        kept.mkdir()
        run(program, "verify", "--index", index)
        for path in index.glob("*.embeddings"):
            shutil.move(path, kept / path.name)

    other = formats / "foreign"
    subprocess.run([foreign, formats / "documents.tsv", other], check=True)
    set_times(other)
    frozen = {name: answers(program, formats, name, options) for name, options in SEARCHES.items()}
    (formats / "answers.json").write_text(json.dumps(frozen, indent=1) + "\n")
    shutil.rmtree(formats / "cache", ignore_errors=True)
    for lock in formats.glob("*/write.lock"):
        lock.unlink()


if __name__ == "__main__":
    main()
