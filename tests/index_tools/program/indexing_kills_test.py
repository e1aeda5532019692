#!/usr/bin/env python3
"""Kills the command index at random moments, sometimes as a power cut would, and resumes it.

After each kill the index must be sound at a commit no older than before; a run resumed to the end must have the same
ids, statistics and first hundred hits as an uninterrupted one. A power cut is played by cutting off or zeroing
the files that were written last, whatever of them was committed: then the run must resume from a commit whose files are
whole, or end with code 3 and name a file.

Usage: indexing_kills_test.py PROGRAM [--kills 200] [--power-cuts 60] [--documents 50000] [--commit-every 500]
                              [--seed 1]
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

TOPICS = "1\triver lamping stones\n2\tgolda winterb boats\n3\tindexed quickc quickd\n"


def write_collection(path, documents):
    rng = random.Random(1)
    stems = "river stone lamp winter boat quick gold index".split()
    words = [a + b for a in stems for b in "a b c d e ing s ed".split()]
    with open(path, "w", encoding="utf-8") as out:
        for i in range(documents):
            out.write(f"d{i}\t{' '.join(rng.choices(words, k=rng.randrange(5, 60)))}\n")


class Trial:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.rng = random.Random(options.seed)
        self.figures = dict.fromkeys(("kills", "power cuts", "resumed after an older commit", "damage reported",
                                      "finished runs compared"), 0)
        self.threads = 1
        write_collection(self.path("docs.tsv"), options.documents)
        with open(self.path("topics.tsv"), "w", encoding="utf-8") as out:
            out.write(TOPICS)
        started = time.monotonic()
        self.run(self.index_command("whole.index", 1, "--quiet"), 0)
        self.seconds = time.monotonic() - started
        self.expected = self.contents("whole.index")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, *codes):
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if result.returncode not in codes:
            sys.exit(f"FAILED: {' '.join(command)} ended with {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def index_command(self, name, threads, *more):
        return [self.options.program, "index", "--corpus", "tsv", "--input", self.path("docs.tsv"), "--index",
                self.path(name), "--threads", str(threads), "--commit-every", str(self.options.commit_every), *more]

    def contents(self, name):
        """Statistics, and the ids and scores of the best hits."""
        summary = json.loads(self.run(self.index_command(name, 1, "--resume", "--json"), 0).stdout)
        run = self.path("run")
        self.run([self.options.program, "search", "--index", self.path(name), "--no-rescore", "--hits", "100",
                  "--topics", self.path("topics.tsv"), "--run", run], 0)
        with open(run, encoding="utf-8") as lines:
            hits = [line.split()[:5] for line in lines]
        assert len(hits) == 300, len(hits)
        return [summary[key] for key in ("documents", "tokens", "documents_with_tokens")], hits

    def verify(self):
        result = self.run([self.options.program, "verify", "--index", self.path("a.index"), "--json"], 0)
        return json.loads(result.stdout)["documents"]

    def begin_again(self):
        shutil.rmtree(self.path("a.index"), ignore_errors=True)
        self.threads = self.rng.choice((1, 2, 4))

    def exists(self):
        return os.path.isdir(self.path("a.index")) and any(
            name.startswith("segments_") for name in os.listdir(self.path("a.index")))

    def run_and_kill(self):
        """Whether it was killed, not finished."""
        with subprocess.Popen(self.index_command("a.index", self.threads, "--resume", "--quiet"),
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE,
                              text=True) as process:
            # Short runs die while opening, longer ones anywhere in commits and merges.
            time.sleep(self.rng.uniform(0.005, self.seconds / 4))
            process.kill()
            _, messages = process.communicate(timeout=120)
        if process.returncode not in (0, -9):
            sys.exit(f"FAILED: resuming ended with {process.returncode}\n{messages}")
        return process.returncode == -9

    def finish_and_compare(self):
        self.run(self.index_command("a.index", self.threads, "--resume", "--quiet"), 0)
        assert self.verify() == self.options.documents
        if self.contents("a.index") != self.expected:
            sys.exit("FAILED: the resumed index differs from the one that was never interrupted")
        self.figures["finished runs compared"] += 1

    def kill_often(self):
        documents = 0
        self.begin_again()
        while self.figures["kills"] < self.options.kills:
            killed = self.run_and_kill()
            self.figures["kills"] += killed
            if not self.exists():
                continue
            now = self.verify()
            if now < documents:
                sys.exit(f"FAILED: {now} documents after {documents}")
            documents = now
            if documents == self.options.documents:
                self.finish_and_compare()
                self.begin_again()
                documents = 0
        self.finish_and_compare()

    def damage_newest_files(self):
        folder = self.path("a.index")
        names = [name for name in os.listdir(folder) if name.startswith(("_", "segments"))]
        names.sort(key=lambda name: os.stat(os.path.join(folder, name)).st_mtime_ns)
        # A disk may have written them in any order.
        newest = names[-self.rng.randrange(1, 25):]
        for name in self.rng.sample(newest, self.rng.randrange(1, len(newest) + 1)):
            size = os.path.getsize(os.path.join(folder, name))
            keep = self.rng.choice((0, self.rng.randrange(size + 1), max(size - 1, 0)))
            with open(os.path.join(folder, name), "r+b") as file:
                file.truncate(keep)
                if self.rng.random() < 0.5:
                    file.truncate(size)  # the rest reads as zeros

    def cut_power_often(self):
        self.begin_again()
        while self.figures["power cuts"] < self.options.power_cuts:
            if not self.run_and_kill() or not self.exists():
                self.begin_again()
                continue
            self.damage_newest_files()
            self.figures["power cuts"] += 1
            result = self.run(self.index_command("a.index", self.threads, "--resume", "--json", "--quiet"), 0, 3)
            if result.returncode == 3:
                if self.path("a.index") not in result.stderr or "--overwrite" not in result.stderr:
                    sys.exit(f"FAILED: the message is not clear: {result.stderr}")
                self.figures["damage reported"] += 1
            else:
                self.figures["resumed after an older commit"] += json.loads(result.stdout)["recovered"] != ""
                self.finish_and_compare()
            self.begin_again()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--power-cuts", type=int, default=60)
    parser.add_argument("--documents", type=int, default=50000)
    parser.add_argument("--commit-every", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="relucent-test-")
    try:
        trial = Trial(options, folder)
        trial.kill_often()
        trial.cut_power_often()
        for name, figure in trial.figures.items():
            print(f"{name}: {figure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
