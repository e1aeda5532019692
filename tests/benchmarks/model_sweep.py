"""Times the bundled model over numbers of candidates and lengths, and its attention window against none.

  python3 tests/benchmarks/model_sweep.py [--precision bf16] [--program build/release/bin/relucent]

Prints two Markdown tables of medians in milliseconds. Inputs of more than 512 tokens use a copy of the checkpoint with
4,096 positions: as fast as a trained one, though it would rank badly.
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

POSITIONS = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/relucent")
    parser.add_argument("--model", default="model/relucent-minilm-l6-w4")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--candidates", default="1,10,100,1000")
    parser.add_argument("--tokens", default="16,64,174,512,4096")
    parser.add_argument("--windows", default="174,512,4096", help="lengths at which w = 4 is timed against no window")
    parser.add_argument("--seconds", type=float, default=20, help="about how long a cell is timed: as many runs as fit")
    parser.add_argument("--longest", type=float, default=120, help="cells that would take a query longer are left out")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes

    with tempfile.TemporaryDirectory() as folder:
        longer = pathlib.Path(folder) / "longer"
        subprocess.run([options.program, "model", "extend", options.model, longer, "--positions", str(POSITIONS)],
                       check=True, capture_output=True)

        def bench(candidates: int, tokens: int, runs: int, *more: str) -> list[dict]:
            model = options.model if tokens <= 512 else longer
            command = [options.program, "bench", "model", "--json", "--device", "cpu", "--precision", options.precision,
                       "--model", model, "--candidates", str(candidates), "--tokens", str(tokens), "--runs", str(runs)]
            result = subprocess.run([*command, *more], check=True, capture_output=True, text=True)
            return json.loads(result.stdout)

        def median(candidates: int, tokens: int, expected: float, *more: str) -> dict:
            return bench(candidates, tokens, max(1, min(31, int(options.seconds * 1e3 / expected))), *more)[0]

        counts, lengths = ([int(n) for n in text.split(",")] for text in (options.candidates, options.tokens))
        first = bench(1, 16, 3)[0]["name"].split()
        print(f"{' '.join(first[1:4])}: median ms, in brackets the share of the measured peak\n")
        print("| candidates | " + " | ".join(f"{n:,} tokens" for n in lengths) + " |")
        print("|---" * (len(lengths) + 1) + "|")
        rows = {count: [f"| {count:,}"] for count in counts}
        for length in lengths:
            expected = bench(counts[0], length, 3)[0]["median_ms"] / counts[0]  # of one candidate
            for count in counts:
                if expected * count > options.longest * 1e3:
                    rows[count].append("not measured")
                    continue
                row = median(count, length, expected * count)
                expected = row["median_ms"] / count
                share = f" ({row['share_of_peak']:.0%})" if "share_of_peak" in row else ""
                rows[count].append(f"{row['median_ms']:,.{0 if row['median_ms'] >= 100 else 1}f}{share}")
        for cells in rows.values():
            print(" | ".join(cells) + " |")

        print("\n| tokens | candidates | w = 4 | no window | times |\n|---|---|---|---|---|")
        for length in (int(n) for n in options.windows.split(",")):
            count = 100 if length <= 512 else 10
            expected = bench(1, length, 3, "--attention-window", "-1")[0]["median_ms"] * count
            # By turns, so that other work on the machine is shared out.
            times = [[median(count, length, 3 * expected, "--attention-window", window)["median_ms"]
                      for window in ("4", "-1")] for _ in range(3)]
            narrow, full = (sorted(column)[1] for column in zip(*times))
            print(f"| {length:,} | {count} | {narrow:,.0f} | {full:,.0f} | {full / narrow:.2f} |")


if __name__ == "__main__":
    main()
