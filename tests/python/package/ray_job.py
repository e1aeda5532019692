"""Driver of the tests with Ray, a process of its own: ray_job.py INPUT OUTPUT KILL.

A cluster of two nodes on this machine, the second of which ends with SIGKILL while it reranks if KILL is "kill". Prints
what the job did as JSON.
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

os.environ.setdefault("RAY_worker_niceness", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")

import ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

import relucent_search.ray_data  # noqa: E402

NODE = {"num_cpus": 2, "object_store_memory": 150_000_000}


def note_work():
    """Runs at the start of each worker: files state which process loaded a model, on which node, and for how many
    queries it was used."""
    import os
    import pathlib

    import ray

    from relucent_search import ray_data, reranker

    def note(event):
        node = ray.get_runtime_context().get_node_id()
        with open(pathlib.Path(os.environ["RELUCENT_NOTES"], f"{event}-{node}-{os.getpid()}"), "a") as file:
            file.write("x")

    class Noted(reranker.Reranker):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            note("loaded")

        def rerank(self, *arguments):
            found = super().rerank(*arguments)
            note("query")
            return found

    ray_data.Reranker = Noted


def notes(folder, event):
    """{(node, process): how often}."""
    return {tuple(file.name.split("-")[1:]): file.stat().st_size for file in pathlib.Path(folder).glob(f"{event}-*")}


def kill_one(cluster, node, folder, killed):
    """Kills the node once an actor there has answered some queries."""
    while not killed:
        done = sum(count for (place, _), count in notes(folder, "query").items() if place == node.node_id)
        if done >= 3:
            killed.append(done)
            cluster.remove_node(node, allow_graceful=False)
            return
        time.sleep(0.02)


def main():
    source, output, kill = sys.argv[1:4]
    folder = os.environ["RELUCENT_NOTES"] = tempfile.mkdtemp(prefix="relucent-ray-")
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    second = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    killed = []
    ray.init(address=cluster.address, log_to_driver=False,
             runtime_env={"worker_process_setup_hook": note_work})
    candidates = ray.data.read_json(source, override_num_blocks=2)
    # One actor per node; the other two cores read and shuffle.
    result = relucent_search.ray_data.rerank(candidates, actors=2, partitions=10, device="cpu")
    if kill == "kill":
        threading.Thread(target=kill_one, args=(cluster, second, folder, killed), daemon=True).start()
    started = time.monotonic()
    result.to_pandas().to_parquet(output)
    seconds = time.monotonic() - started
    print(json.dumps({"seconds": seconds, "killed": killed, "alive": sum(node["Alive"] for node in ray.nodes()),
                      "loaded": list(notes(folder, "loaded").values()),
                      "nodes": len({node for node, _ in notes(folder, "query")}),
                      "queries": sum(notes(folder, "query").values())}))
    ray.shutdown()
    cluster.shutdown()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
