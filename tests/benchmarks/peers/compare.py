"""Times Relucent's CPU backend against sentence-transformers on the same checkpoint, pairs and threads.

Every round runs each contender a few times, in an order that turns from round to round. The peer computes the checkpoint
as the dense cross-encoder that it can load; both start from text and end at logits.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = set(facts["flags"].split())
    level = next((name for name in ("amx_bf16", "avx512_bf16", "avx512f", "avx2") if name in flags), "sse2")
    return f"{facts['model name']} (family {facts['cpu family']}, model {facts['model']}), best of {level}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=174)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2, help="timed runs of each contender a round")
    parser.add_argument("--precisions", default="fp32", help="of Relucent, by commas")
    parser.add_argument("--peer-precisions", default="fp32", help="of the peer, by commas: fp32, bf16")
    parser.add_argument("--batch-size", type=int, default=32, help="of the peer")
    options = parser.parse_args()

    import sentence_transformers
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(options.threads)
    pairs_file = tempfile.NamedTemporaryFile(suffix=".jsonl")

    def relucent(precision: str) -> list[float]:
        command = [options.program, "bench", "model", "--json", "--model", options.model, "--device", "cpu",
                   "--precision", precision, "--threads", str(options.threads), "--candidates", str(options.candidates),
                   "--tokens", str(options.tokens), "--runs", str(options.runs), "--write-pairs", pairs_file.name]
        output = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return [output[0][key] for key in ("median_ms",)] * options.runs

    contenders = {f"relucent {p}": (lambda p=p: relucent(p)) for p in options.precisions.split(",")}
    relucent(options.precisions.split(",")[0])  # writes the pairs
    with open(pairs_file.name, encoding="utf-8") as lines:
        pairs = [(row["query"], row["text"]) for row in map(json.loads, lines)]

    types = {"fp32": torch.float32, "bf16": torch.bfloat16}
    for name in options.peer_precisions.split(","):
        encoder = CrossEncoder(options.model, device="cpu", max_length=512, model_kwargs={"torch_dtype": types[name]})

        def peer(encoder=encoder) -> list[float]:
            samples = []
            for _ in range(options.runs):
                start = time.perf_counter()
                encoder.predict(pairs, batch_size=options.batch_size, show_progress_bar=False)
                samples.append(1e3 * (time.perf_counter() - start))
            return samples

        peer()
        contenders[f"sentence-transformers {name}"] = peer

    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(options.rounds):
        names = list(contenders)
        for name in names if number % 2 == 0 else reversed(names):
            samples[name] += contenders[name]()

    print(f"{options.candidates} candidates x {options.tokens} tokens, {options.threads} threads, {processor()}")
    print(f"torch {torch.__version__}, sentence-transformers {sentence_transformers.__version__}, "
          f"Python {platform.python_version()}, {options.rounds} rounds in turns\n")
    print("| | median ms | min | max | times sentence-transformers fp32 |\n|---|---|---|---|---|")
    base = statistics.median(samples[f"sentence-transformers {options.peer_precisions.split(',')[0]}"])
    for name, values in samples.items():
        median = statistics.median(values)
        print(f"| {name} | {median:,.0f} | {min(values):,.0f} | {max(values):,.0f} | {base / median:.2f} |")


if __name__ == "__main__":
    main()
