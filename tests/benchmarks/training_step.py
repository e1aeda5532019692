#!/usr/bin/env python3
"""Pairs per second of training steps of the bundled recipe's shape: 8 queries with 8 candidates, 108 tokens, MiniLM-L6.

PYTHONPATH=python/src tests/benchmarks/training_step.py [--threads 2] [--steps 4] [--bf16] [--profile]

A random model and random tokens, AdamW as the trainer has it; the time is that of the whole step, the best and the
median of the steps after the first. --profile prints PyTorch's operators, the slowest first.
"""
import argparse
import statistics
import time

import torch
from relucent_search.train.batch import Batch
from relucent_search.train.losses import weighted
from relucent_search.train.memory import keep_freed_memory
from relucent_search.train.model import CrossEncoder
from relucent_search.train.pattern import AttentionPattern

CONFIG = {"model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6,
          "num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512,
          "hidden_dropout_prob": 0.0}
QUERY, TOKENS = 10, 108


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--separate-queries", action="store_true", help="compute a query once per candidate")
    parser.add_argument("--system-malloc", action="store_true", help="return freed memory to the kernel")
    parser.add_argument("--profile", action="store_true")
    parsed = parser.parse_args()
    if not parsed.system_malloc:
        keep_freed_memory()
    torch.set_num_threads(parsed.threads)
    torch.manual_seed(1)
    model = CrossEncoder(CONFIG, AttentionPattern.named("sparse", 4)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    loss_of = weighted({"kl": 1.0, "centred_mse": 0.1})
    pairs = parsed.queries * 8
    ids = torch.randint(1000, 30000, (pairs, TOKENS - 1)).tolist()
    batch = [(ids[i // 8 * 8][: QUERY + 1], row[QUERY + 1 :]) for i, row in enumerate(ids)]
    targets = torch.randn(parsed.queries, 8)
    part = parsed.queries // parsed.accumulate

    def step() -> None:
        for start in range(0, parsed.queries, part):
            with torch.autocast("cpu", torch.bfloat16, enabled=parsed.bf16):
                logits = model(Batch.of(batch[start * 8 : (start + part) * 8], 101, share=not parsed.separate_queries))
            loss = loss_of(logits.view(part, 8), targets[start : start + part]) / parsed.accumulate
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    times = []
    for _ in range(parsed.steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    print(f"{pairs / min(times):.1f} pairs/s (best), {pairs / statistics.median(times):.1f} (median)")
    if parsed.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
            step()
        averages = profile.key_averages(group_by_input_shape=True)
        print(averages.table("self_cpu_time_total", row_limit=45, max_shapes_column_width=70))


if __name__ == "__main__":
    main()
