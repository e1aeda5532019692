#!/usr/bin/env python3
"""Kills `relucent index --update` and `relucent delete` at random moments, and looks at every document after each kill.

The index must be sound; each document must be the one before the command or the one after it, as many from the
beginning of the input as whole commits have; documents that the command does not name must be as they were; a deletion
must have happened to all of its ids or to none. Snapshots that are made meanwhile must be sound and hold one of these
states. A command that is repeated to its end must leave what it was asked for.

Usage: updates_kills_test.py PROGRAM [--kills 300] [--documents 2000] [--commit-every 40] [--seed 1]
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


class Trial:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rng = random.Random(options.seed)
        self.figures = dict.fromkeys(("kills of updates", "kills of deletions", "finished before the kill",
                                      "kills within the input", "snapshots compared", "finished commands compared"), 0)
        self.version = 0
        self.now = {f"d{i}": f"common first{i}" for i in range(options.documents)}
        self.write("all.tsv", self.now.items())
        self.run("index", "--corpus", "tsv", "--input", self.path("all.tsv"), "--index", self.path("a.index"),
                 "--commit-every", "300", "--quiet")
        self.seconds = 0.5

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, rows):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.writelines("\t".join(row) + "\n" for row in rows)

    def command(self, *arguments):
        return [self.options.program, *arguments]

    def run(self, *arguments):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=600, check=False)
        if result.returncode != 0:
            sys.exit(f"FAILED: {arguments} ended with {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stdout

    def documents(self, index):
        """Every document by its id: all of them have the word common."""
        answer = json.loads(self.run("search", "--index", self.path(index), "--no-rescore", "--json", "--hits",
                                     str(4 * self.options.documents), "common"))
        found = {hit["id"]: hit["text"] for hit in answer["hits"]}
        if len(found) != len(answer["hits"]):
            sys.exit("FAILED: an id occurs twice")
        return found

    def verify(self, index):
        report = json.loads(self.run("verify", "--index", self.path(index), "--quiet", "--json"))
        assert report["sound"], report

    def next_change(self):
        """The command's arguments, and the states that it may leave behind, by the number of its documents done."""
        self.version += 1
        if self.rng.random() < 0.35:
            ids = self.rng.sample(sorted(self.now), self.rng.randrange(1, len(self.now) // 3))
            self.write("ids", [(one,) for one in ids])
            after = {one: text for one, text in self.now.items() if one not in set(ids)}
            return ("delete", "--index", self.path("a.index"), "--input", self.path("ids")), [self.now, after]
        ids = self.rng.sample([f"d{i}" for i in range(self.options.documents * 5 // 4)],
                              self.rng.randrange(1, self.options.documents // 2))
        rows = [(one, f"common version{self.version} {one}") for one in ids]
        self.write("change.tsv", rows)
        states, state = [self.now], dict(self.now)
        for done, (one, text) in enumerate(rows, start=1):
            state[one] = text
            if done % self.options.commit_every == 0 or done == len(rows):
                states.append(dict(state))
        return ("index", "--corpus", "tsv", "--input", self.path("change.tsv"), "--index", self.path("a.index"),
                "--commit-every", str(self.options.commit_every), "--threads", self.rng.choice("124"), "--update",
                "--quiet"), states

    def snapshot(self, states):
        shutil.rmtree(self.path("copy.index"), ignore_errors=True)
        extra = ("--copy",) if self.rng.random() < 0.5 else ()
        self.run("snapshot", "--index", self.path("a.index"), "--output", self.path("copy.index"), *extra)
        self.verify("copy.index")
        if self.documents("copy.index") not in states:
            sys.exit("FAILED: the snapshot has none of the states of the command")
        self.figures["snapshots compared"] += 1

    def kill_one(self):
        arguments, states = self.next_change()
        kind = "kills of deletions" if arguments[0] == "delete" else "kills of updates"
        started = time.monotonic()
        with subprocess.Popen(self.command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            if self.rng.random() < 0.1:
                self.snapshot(states)
            else:
                time.sleep(self.rng.uniform(0, self.seconds))
            process.kill()
            _, messages = process.communicate(timeout=120)
        if process.returncode not in (0, -9):
            sys.exit(f"FAILED: {arguments} ended with {process.returncode}\n{messages}")
        if process.returncode == 0:
            # The span of moments follows the commands' time, which a busy machine changes.
            self.seconds = max(0.02, 0.9 * min(self.seconds, time.monotonic() - started))
            self.figures["finished before the kill"] += 1
        else:
            self.seconds = min(5, self.seconds * 1.02)
            self.figures[kind] += 1
        self.verify("a.index")
        found = self.documents("a.index")
        if found not in states:
            different = [one for one in states[-1] if found.get(one) not in (states[0].get(one), states[-1][one])]
            sys.exit(f"FAILED: the index has no state of {arguments}: {different[:5]}")
        if process.returncode == 0 and found != states[-1]:
            sys.exit(f"FAILED: {arguments} ended, but not all of it is in the index")
        self.figures["kills within the input"] += found not in (states[0], states[-1])
        self.now = found
        if self.rng.random() < 0.2 or len(self.now) < self.options.documents // 2:
            if arguments[0] == "delete" or len(self.now) < self.options.documents // 2:
                arguments, states = self.refill()
            self.run(*arguments)
            self.now = self.documents("a.index")
            if self.now != states[-1]:
                sys.exit(f"FAILED: {arguments} was repeated, but the index is not what it asks for")
            self.verify("a.index")
            self.figures["finished commands compared"] += 1

    def refill(self):
        rows = [(f"d{i}", f"common refilled{self.version} d{i}") for i in range(self.options.documents)]
        self.write("change.tsv", rows)
        return (("index", "--corpus", "tsv", "--input", self.path("change.tsv"), "--index", self.path("a.index"),
                 "--update", "--quiet"), [self.now, {**self.now, **dict(rows)}])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--commit-every", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="relucent-test-")
    try:
        trial = Trial(options, folder)
        while trial.figures["kills of updates"] + trial.figures["kills of deletions"] < options.kills:
            trial.kill_one()
        for name, figure in trial.figures.items():
            print(f"{name}: {figure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
