#!/usr/bin/env python3
"""Writes the libraries' answers into variations.jsonl again, or with --check compares them:

    pip install -r tests/goldens/settings/requirements.txt
    python3 tests/goldens/settings/make.py [--check] [--new | NAME...]

--new answers only lines that have no answer yet; names (or their beginnings) answer only those lines.
"""
import gzip
import json
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TOKENIZERS_PARALLELISM="false")
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import numpy
import torch
from safetensors.numpy import save_file
from sentence_transformers import CrossEncoder
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

transformers_logging.disable_progress_bar()
torch.set_num_threads(1)
HERE = Path(__file__).parent
GOLDENS = HERE.parent
TABLE = HERE / "variations.jsonl"
BASES = json.loads((HERE / "bases.json").read_text())
PAIRS = json.loads((HERE / "pairs.json").read_text())


def weights_of(name, shape):
    """The values of a tensor follow from its name: settings_golden.cpp computes the same."""
    mask = (1 << 64) - 1
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & mask
    z = numpy.arange(1, int(numpy.prod(shape)) + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z += numpy.uint64(seed)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    z ^= z >> numpy.uint64(31)
    values = ((z >> numpy.uint64(40)).astype(numpy.float32) - numpy.float32(1 << 23)) / numpy.float32(1 << 23)
    if len(shape) > 1:
        values *= numpy.float32(0.5)
    elif "norm" in name.lower() and name.endswith("weight"):
        values = numpy.float32(1) + numpy.float32(0.25) * values
    else:
        values *= numpy.float32(0.25)
    return values.reshape(shape)


def write_weights(folder, shapes, change):
    tensors = {}
    for name, shape in {**shapes, **change.get("add", {})}.items():
        new = name
        for old, by in change.get("rename", []):
            new = new.replace(old, by)
        if any(new.startswith(beginning) for beginning in change.get("remove", [])):
            continue
        tensors[new] = weights_of(name, shape).astype({"F32": "f4", "F64": "f8"}[change.get("type", "F32")])
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_file(path, change):
    """change: null removes the file; otherwise copy or text is the new content, in which replace, set and unset change
    something; without copy and text they change what is there."""
    if change is None:
        return path.unlink()
    path.parent.mkdir(exist_ok=True)
    if "text" in change:
        path.write_bytes(change["text"].encode())
    if "copy" in change:
        data = (GOLDENS / change["copy"]).read_bytes()
        path.write_bytes(gzip.decompress(data) if change["copy"].endswith(".gz") else data)
    for old, new in change.get("replace", []):
        path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    if "set" not in change and "unset" not in change:
        return
    document = json.loads(path.read_text()) if path.exists() else {}
    if "set" in change and "" in change["set"]:
        document = change["set"][""]
    for pointer in list(change.get("set", {})) + change.get("unset", []):
        if pointer == "":
            continue
        place = document
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        if pointer not in change.get("set", {}):
            del place[int(last) if isinstance(place, list) else last]
        elif isinstance(place, list):
            place[int(last)] = change["set"][pointer]
        else:
            place[last] = change["set"][pointer]
    path.write_text(json.dumps(document))


def build(folder, row):
    base = BASES[row["base"]]
    for name, change in [*base["files"].items(), *row.get("files", {}).items()]:
        write_file(folder / name, change)
    write_weights(folder, base["tensors"], row.get("tensors", {}))


def mono_t5(folder, pairs):
    """As castorini/monot5's users compute it, but without truncation."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    words = [tokenizer(word, add_special_tokens=False).input_ids for word in ("true", "false")]
    assert [len(word) for word in words] == [1, 1]
    logits = []
    for query, text in pairs:
        ids = tokenizer(f"Query: {query} Document: {text} Relevant:", return_tensors="pt").input_ids
        start = torch.tensor([[model.config.decoder_start_token_id]])
        with torch.no_grad():
            out = model(input_ids=ids, decoder_input_ids=start).logits[0, 0].double()
        logits.append(torch.log_softmax(out[[word[0] for word in words]], 0)[0].item())
    return logits, None


def cross_encoder(folder, pairs):
    model = CrossEncoder(str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": torch.float32})
    activation = type(model.activation_fn).__name__
    logits = model.predict(pairs, activation_fn=torch.nn.Identity(), batch_size=1, show_progress_bar=False)
    if logits.ndim > 1:
        raise ValueError(f"{logits.shape[1]} labels")
    return logits.tolist(), activation


def answer(row):
    run = mono_t5 if BASES[row["base"]]["library"] == "t5" else cross_encoder
    pairs = [tuple(pair) for pair in row.get("pairs", PAIRS)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        build(folder, row)
        try:
            answers = []
            for seed in (1, 2):
                torch.manual_seed(seed)
                answers.append(run(folder, pairs))
        except BaseException as error:
            return {"error": f"{type(error).__name__}: {error}".replace(temporary, "")[:160]}
    logits, activation = answers[0]
    if not numpy.allclose(logits, answers[1][0], atol=1e-6):
        return {"error": "gives another score each time: some weights are random"}
    return {"logits": [round(logit, 5) for logit in logits], **({"activation": activation} if activation else {})}


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    rows = [json.loads(line) for line in TABLE.read_text().splitlines()]
    wrong = 0
    for row in rows:
        old = {key: row.pop(key) for key in ("logits", "activation", "error") if key in row}
        if (names and not any(row["name"].startswith(name) for name in names)) or ("--new" in options and old):
            row.update(old)
            continue
        new = answer(row)
        row.update(old if "--check" in options else new)
        same = "logits" in old and "logits" in new and numpy.allclose(old["logits"], new["logits"], atol=5e-5)
        if "--check" in options and not (same and old.get("activation") == new.get("activation")) and old != new:
            wrong += 1
            print(f"{row['name']}: stored {old}, computed {new}")
        elif "--check" not in options:
            print(row["name"], new)
    if "--check" in options:
        print(f"{wrong} differences")
        sys.exit(1 if wrong else 0)
    TABLE.write_text("".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows))


if __name__ == "__main__":
    main()
