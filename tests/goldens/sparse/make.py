#!/usr/bin/env python3
"""Computes the logits and hidden states again, or with --check compares them.

    python3 tests/goldens/sparse/make.py [--check]

A plain BERT in float64 with a dense [T, T] mask, written from the specification alone. Needs numpy and scipy
(pip install numpy==2.4.6 scipy==1.17.1).
Models, patterns and ids of cases.jsonl.gz stay as they are, and so do the authors' own results.
"""
import json
import math
import struct
import sys
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import erf

sys.path.insert(0, str(Path(__file__).parent.parent))
import goldens
from goldens import CHECK, FOLDER, finish, read_json_lines, write_json_lines

here = FOLDER / "sparse"
TOLERANCE = 1e-8  # hidden states are stored with nine digits


def tensor(kind, data):
    if kind == "F32":
        return np.frombuffer(data, "<f4").astype(np.float64)
    if kind == "F16":
        return np.frombuffer(data, "<f2").astype(np.float64)
    if kind == "BF16":  # the upper half of a float
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    return None  # position_ids


@cache
def model(name):
    """The configuration, and the tensors as float64."""
    data = (here / name / "model.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for key, entry in json.loads(data[8:start]).items():
        if key == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = tensor(entry["dtype"], data[start + begin:start + end])
        if values is not None:
            tensors[key] = values.reshape(entry["shape"])
    return json.loads((here / name / "config.json").read_text()), tensors


def mask_of(pattern, query, document):
    """[T, T]: whether row i attends to column j; `query` and `document` count their ids. A part attends to itself."""
    part = np.array([0] + [1] * query + [2] * document)
    allowed = np.equal.outer(part, part)
    names = ["cls", "query", "doc"]
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            if i != j:
                allowed |= np.logical_and.outer(part == i, part == j) & pattern[f"{row}_{column}_attention"]
    window = pattern["attention_window_size"]
    if window is not None:  # inside the document only
        place = np.arange(len(part))
        far = np.abs(np.subtract.outer(place, place)) > window
        allowed &= ~(np.logical_and.outer(part == 2, part == 2) & far)
    return allowed


def encode(case):
    config, tensors = model(case["model"])
    heads, epsilon = config["num_attention_heads"], config["layer_norm_eps"]

    def linear(x, name):
        return x @ tensors[name + ".weight"].T + tensors[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
        return scaled * tensors[name + ".weight"] + tensors[name + ".bias"]

    query, document = len(case["query_ids"]), len(case["doc_ids"])
    ids = [case["cls_id"], *case["query_ids"], *case["doc_ids"]]
    kinds = [0] * (1 + query) + [1] * document
    mask = mask_of(case["pattern"], query, document)
    embeddings = "bert.embeddings."
    x = tensors[embeddings + "word_embeddings.weight"][ids]
    x = x + tensors[embeddings + "position_embeddings.weight"][:len(ids)]
    x = norm(x + tensors[embeddings + "token_type_embeddings.weight"][kinds], embeddings + "LayerNorm")
    states = []
    for layer in range(config["num_hidden_layers"]):
        name = f"bert.encoder.layer.{layer}."

        def split(y):  # [heads, T, hidden / heads]
            return y.reshape(len(ids), heads, -1).transpose(1, 0, 2)

        q, k, v = (split(linear(x, f"{name}attention.self.{part}")) for part in ("query", "key", "value"))
        logits = np.where(mask, q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1]), -np.inf)
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        context = (shares / shares.sum(-1, keepdims=True)) @ v
        context = context.transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + linear(context, name + "attention.output.dense"), name + "attention.output.LayerNorm")
        inner = linear(x, name + "intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + linear(inner, name + "output.dense"), name + "output.LayerNorm")
        states.append(x)
    pooled = np.tanh(linear(x[:1], "bert.pooler.dense"))
    return linear(pooled, "classifier")[0, 0], states


def compare(row, case, name, old, new):
    off = float(np.abs(np.subtract(old, new)).max())
    if not off <= TOLERANCE:
        goldens.differ(here / "cases.jsonl.gz", row, f"{case['id']} {name}", f"off by {off}")


def digits(values):
    return [[float(f"{value:.9g}") for value in row[:8]] for row in values]


cases = read_json_lines(here / "cases.jsonl.gz")
for row, case in enumerate(cases, 1):
    logit, states = encode(case)
    answers = {"logit": float(logit), "cls_hidden": digits([state[0] for state in states])}
    for name, first in (("doc_hidden_last", 1 + len(case["query_ids"])), ("query_hidden_last", 1)):
        if name in case:
            positions = case[name]["positions"]
            answers[name] = {"positions": positions, "values": digits(states[-1][[first + p for p in positions]])}
    for name, answer in answers.items():
        if CHECK:
            pick = (lambda x: x["values"]) if isinstance(answer, dict) else (lambda x: x)
            compare(row, case, name, pick(case[name]), pick(answer))
        else:
            case[name] = answer
if not CHECK:
    write_json_lines(here / "cases.jsonl.gz", cases)
finish()
