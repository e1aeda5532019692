#!/usr/bin/env python3
"""Figure 2a of arXiv 2312.17649: the attention of one layer alone, by length and window. `relucent bench attention` in
turns with PyTorch: its fused attention over all tokens, the same with a dense mask of the window, and FlexAttention,
compiled, with a block mask. On a CPU in fp32, on a GPU (--device cuda) in fp16.

  python tests/benchmarks/attention.py [--program build/release/bin/relucent] [--threads 1] [--device cuda]

Needs PyTorch and a C++ compiler (for FlexAttention). Prints the median microseconds per input, and how much longer each
contender takes than Relucent.
"""
import argparse
import json
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

HEADS, SIZE = 12, 32  # the bundled checkpoint's


def near(length, window, device):
    at = torch.arange(length, device=device)
    return (at[:, None] - at[None, :]).abs() <= window


def contenders(length, window, device):
    """{name: attention of query, key, value}"""
    if window is None:
        return {"PyTorch, fused": F.scaled_dot_product_attention}
    mask = near(length, window, device)
    blocks = create_block_mask(lambda b, h, i, j: (i - j).abs() <= window, None, None, length, length, device=device)
    compiled = torch.compile(flex_attention, dynamic=False)
    return {"PyTorch, dense mask": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
            "PyTorch, FlexAttention": lambda q, k, v: compiled(q, k, v, block_mask=blocks)}


def timed(work, runs):
    def wait():
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    work()
    samples = []
    for _ in range(runs):
        wait()
        start = time.perf_counter()
        work()
        wait()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def check(length, window, contender, states):
    states = [state.float() for state in states]
    mask = None if window is None else near(length, window, states[0].device)
    expected = F.scaled_dot_product_attention(*states, attn_mask=mask)
    assert torch.allclose(contender(*states), expected, atol=1e-5), "the contender computes something else"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", default="build/release/bin/relucent")
    options.add_argument("--lengths", default="128,512,2048,4096")
    options.add_argument("--windows", default="inf,64,4")
    options.add_argument("--candidates", type=int, default=4)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--rounds", type=int, default=2, help="their order changes from round to round")
    asked = options.parse_args()
    torch.set_num_threads(asked.threads)
    sizes = f"threads: {asked.threads}, {asked.candidates} inputs, {HEADS} heads of {SIZE}"
    precision, number = ("fp32", torch.float32) if asked.device == "cpu" else ("fp16", torch.float16)
    print(f"PyTorch {torch.__version__}, {asked.device}, {precision}, {sizes}")
    print(f"{'tokens':>6} {'window':>6}  {'contender':<24} {'µs per input':>12} {'ratio':>7}")
    for length in map(int, asked.lengths.split(",")):
        for name in asked.windows.split(","):
            window = None if name == "inf" else int(name)
            states = torch.rand(3, asked.candidates, HEADS, length, SIZE, device=asked.device, dtype=number).unbind(0)

            def relucent(length=length, name=name):
                printed = subprocess.run(
                    [asked.program, "bench", "attention", "--lengths", str(length), "--windows", name, "--device",
                     asked.device, "--precision", precision, "--threads", str(asked.threads), "--candidates",
                     str(asked.candidates), "--runs", str(asked.runs), "--json"],
                    check=True, capture_output=True, text=True).stdout
                return json.loads(printed)[0]["median_ms"] / 1e3

            measures = {"Relucent": relucent}
            with torch.inference_mode():
                for who, contender in contenders(length, window, asked.device).items():
                    try:
                        check(length, window, contender, states)
                    except Exception as problem:  # FlexAttention lacks some lengths on CPUs
                        reason = str(problem).splitlines()[0]
                        print(f"{length:>6} {name:>6}  {who:<24} {type(problem).__name__}: {reason}")
                        continue
                    measures[who] = lambda contender=contender: timed(lambda: contender(*states), asked.runs)
                times = {who: [] for who in measures}
                for turn in range(asked.rounds):
                    for who in list(measures)[:: 1 if turn % 2 == 0 else -1]:
                        times[who].append(measures[who]())
            ours = statistics.median(times["Relucent"])
            for who, samples in times.items():
                median = statistics.median(samples)
                each = 1e6 * median / asked.candidates
                print(f"{length:>6} {name:>6}  {who:<24} {each:>12.1f} {median / ours:>7.2f}")


if __name__ == "__main__":
    main()
