"""Driver of the Spark tests, a process of its own: spark_job.py MASTER INPUT OUTPUT PARTITIONS KILL.

KILL is "kill" to end one executor with SIGKILL once a task of the job has finished. Prints what the job did as JSON.
"""
import json
import os
import pathlib
import signal
import sys
import threading
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import relucent_search.spark


def executors():
    """Process ids of the executors that descend from this process."""
    parent, command = {}, {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "stat").read_text()
                parent[int(folder.name)] = int(status.rsplit(")", 1)[1].split()[1])
                command[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:
                continue

    def is_mine(process):
        while process in parent:
            process = parent[process]
            if process == os.getpid():
                return True
        return False

    return [process for process, line in command.items()
            if b"CoarseGrainedExecutorBackend" in line and line.split(b"\0")[0].endswith(b"java") and is_mine(process)]


def kill_one(spark, partitions, killed):
    """Kills an executor once some tasks have finished while others run: some output is finished, some work is lost."""
    tracker = spark.sparkContext.statusTracker()
    while not killed:
        for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
            if stage and stage.numTasks == partitions and 1 <= stage.numCompletedTasks < stage.numTasks - 1:
                killed.append((executors()[0], stage.numCompletedTasks, stage.numTasks))
                os.kill(killed[0][0], signal.SIGKILL)
                return
        time.sleep(0.02)


def main():
    master, source, output, partitions, kill = sys.argv[1:6]
    spark = SparkSession.builder.master(master).appName("test").config("spark.ui.enabled", "false") \
        .config("spark.python.worker.reuse", "true").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    candidates = relucent_search.spark.read(spark, [source])
    # Spread over the files' partitions, so that every executor works on the shuffle.
    result = relucent_search.spark.rerank(candidates.repartition(4), partitions=int(partitions), device="cpu",
                                          threads=1)
    killed = []
    if kill == "kill":
        threading.Thread(target=kill_one, args=(spark, int(partitions), killed), daemon=True).start()
    started = time.monotonic()
    result.drop("query", "text").write.parquet(output)
    seconds = time.monotonic() - started
    workers = spark.range(0, 64, 1, 16).mapInPandas(relucent_search.spark.loaded_models, "process int, models int") \
        .groupBy("process").agg(F.max("models").alias("models")).collect()
    print(json.dumps({"seconds": seconds, "killed": killed, "models": [row.models for row in workers]}))
    spark.stop()


if __name__ == "__main__":
    main()
