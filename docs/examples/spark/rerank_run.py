"""Reranks a run with Spark and prints the best document of each query.

spark-submit --master "local-cluster[2,1,1024]" rerank_run.py CANDIDATES OUTPUT

CANDIDATES: JSON lines or Parquet with qid, query, docno, text, rank, score, as `relucent search --rerank-file` writes
them. OUTPUT: a new folder of Parquet files with qid, docno, rank, score, logit.
"""
import sys

from pyspark.sql import SparkSession

import relucent_search.spark

spark = SparkSession.builder.appName("rerank a run").getOrCreate()
candidates = relucent_search.spark.read(spark, [sys.argv[1]])
reranked = relucent_search.spark.rerank(candidates, partitions=8, device="cpu")
reranked.drop("query", "text").write.parquet(sys.argv[2])
spark.read.parquet(sys.argv[2]).where("rank = 1").orderBy("qid").show(5, truncate=False)
spark.stop()
