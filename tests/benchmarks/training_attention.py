#!/usr/bin/env python3
"""Time and memory of a training step: attention in bands against the same pattern as a dense mask.

PYTHONPATH=python/src tests/benchmarks/training_attention.py [--lengths 512 4096] [--window 4] [--layers 6] [--steps 2]

One thread and one document per step, a random model of MiniLM's shape; the time is the thread's CPU time, the best of
the steps, and the memory is what a step adds to its process's peak. The last layer computes [CLS] alone. Six
layers of 4096 tokens need about 15 GB as a dense mask.
"""
import argparse
import resource
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from relucent_search.train.attention import banded
from relucent_search.train.batch import Batch
from relucent_search.train.model import CrossEncoder
from relucent_search.train.pattern import AttentionPattern


def dense(query, whole_keys, whole_values, whole_valid, keys, values, valid, window):
    place = torch.arange(query.shape[2])
    near = ((place[:, None] - place).abs() <= window) & valid[:, None, None, :]
    mask = torch.cat([whole_valid[:, None, None, :].expand(-1, -1, len(place), -1), near], dim=3)
    keys, values = torch.cat([whole_keys, keys], dim=2), torch.cat([whole_values, values], dim=2)
    scores = query @ keys.transpose(2, 3) * query.shape[3] ** -0.5
    return F.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ values


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(attention, length: int, window: int, layers: int, steps: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    config = {"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": layers,
              "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": length}
    model = CrossEncoder(config, AttentionPattern.named("sparse", window)).train()
    model.document_attention = attention
    query = [5] * 10
    batch = Batch.of([(query, [7] * (length - 1 - len(query)))], 101)
    sum(parameter.sum() for parameter in model.parameters()).backward()  # the gradients' memory
    before, times = peak(), []
    for _ in range(steps):
        start = time.process_time()
        model(batch).sum().backward()
        times.append(time.process_time() - start)
    print(f"{length:8} {attention.__name__:8} {min(times):8.2f} s {peak() - before:9.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 4096])
    parser.add_argument("--window", type=int, default=4)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--only", choices=("banded", "dense"), help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.only:
        attention = banded if parsed.only == "banded" else dense
        measure(attention, parsed.lengths[0], parsed.window, parsed.layers, parsed.steps)
        return
    print(f"{'tokens':>8} {'':8} {'step':>10} {'memory':>12}", flush=True)
    for length in parsed.lengths:
        for only in ("banded", "dense"):
            settings = ["--lengths", length, "--window", parsed.window, "--layers", parsed.layers]
            settings += ["--steps", parsed.steps, "--only", only]
            subprocess.run([sys.executable, __file__, *map(str, settings)], check=True)


if __name__ == "__main__":
    main()
