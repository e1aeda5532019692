"""Kendall's tau-b between two files of scores that `relucent rerank --output X.tsv` wrote: its mean over the queries.

  python tests/benchmarks/rank_correlation.py fp32.tsv int8.tsv     (needs SciPy; compare.sh's environment has it)
"""
import collections
import statistics
import sys

from scipy.stats import kendalltau


def scores(path: str) -> dict[str, dict[str, float]]:
    queries: dict[str, dict[str, float]] = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, document, score = line.split()
            queries[query][document] = float(score)
    return queries


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    first, second = scores(sys.argv[1]), scores(sys.argv[2])
    if {q: d.keys() for q, d in first.items()} != {q: d.keys() for q, d in second.items()}:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} hold different queries or documents")
    taus = [kendalltau(list(of.values()), [second[query][document] for document in of]).statistic
            for query, of in first.items()]
    largest = max(abs(score - second[query][document]) for query, of in first.items() for document, score in of.items())
    print(f"queries {len(taus)}, tau mean {statistics.mean(taus):.4f}, least {min(taus):.4f}, "
          f"largest difference of a score {largest:.2e}")


if __name__ == "__main__":
    main()
