"""Reranks a run with Ray Data and prints the best document of each query.

python rerank_run.py CANDIDATES

CANDIDATES: JSON lines (qid, query, docno, text, rank, score), e.g. of `relucent search --rerank-file`.
"""
import sys

import ray
from ray.data.expressions import col

import relucent_search.ray_data

ray.init()
candidates = relucent_search.ray_data.read(sys.argv[1:])
reranked = relucent_search.ray_data.rerank(candidates, device="cpu")
best = reranked.filter(expr=col("rank") == 1)
for row in sorted(best.take_all(), key=lambda row: row["qid"])[:5]:
    print(row["qid"], row["docno"], row["score"])
