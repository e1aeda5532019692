#!/usr/bin/env python3
"""Kills each writing command at random moments, and looks at what remains.

Readers must find what was there before, what the whole command leaves, or a state on the way that the command promises;
the same command, run again, must succeed and leave what the undisturbed command leaves.

Usage: kills_test.py PROGRAM [--writers NAME ...] [--kills N] [--size N] [--state FILE] [--jobs N] [--keep FOLDER]
  --kills N     of each writer
  --state FILE  the kills done, as JSON lines; a run with the same file resumes
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import writers
from trials import KILLED, State, Trials


class Kills:
    """The kills of one writer."""

    def __init__(self, trials, seed):
        self.trials, self.rng, self.lock = trials, random.Random(f"{trials.writer.name} {seed}"), threading.Lock()
        self.seconds = 0.5

    def kill(self, number):
        """(whether it was killed, a problem or "")."""
        folder = self.trials.copy(f"kill-{number}")
        try:
            with self.lock:
                moment = self.rng.uniform(0, self.seconds)
            started = time.monotonic()
            with subprocess.Popen(list(map(str, self.trials.writer.command())), cwd=folder, env=writers.ENVIRONMENT,
                                  text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL) as process:
                try:
                    process.wait(moment)
                except subprocess.TimeoutExpired:
                    process.kill()
                message = process.communicate(timeout=300)[1]
            killed = process.returncode == -signal.SIGKILL
            with self.lock:  # the span of moments follows the command's time, which a busy machine changes
                self.seconds = min(20, 1.03 * self.seconds) if killed else time.monotonic() - started
            result = subprocess.CompletedProcess((), KILLED if killed else process.returncode, "", message)
            _, problem = self.trials.judge(folder, result, (), may_leave_unfinished=True)
            if problem:
                self.trials.keep_folder(folder)
                problem = f"{self.trials.writer.name}: killed after {moment:.3f} s: {problem}"
            return killed, problem
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def run_writer(trials, options, state, problems):
    name, figures = trials.writer.name, collections.Counter()
    numbers = [key[2] for key in state.done if key[0] == name]
    done, number = len(numbers), max(numbers, default=-1) + 1
    kills = Kills(trials, f"{options.seed} {number}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while done < options.kills:
            count = min(options.kills - done, 8 * options.jobs)
            for killed, problem in pool.map(kills.kill, range(number, number + count)):
                if problem:
                    problems.append(problem)
                    print("PROBLEM: " + problem, flush=True)
                if killed:
                    state.put((name, "kill", number), ("", "wrong" if problem else "survived"))
                    done += 1
                else:
                    figures["ended before"] += 1
                number += 1
            if len(problems) > 20:
                sys.exit("FAILED: too many problems")
    print(f"{name}: {done} kills; {figures['ended before']} more runs ended before theirs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--writers", nargs="+", choices=[kind.name for kind in writers.WRITERS])
    parser.add_argument("--kills", type=int, default=90)
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--state")
    parser.add_argument("--keep")
    options = parser.parse_args()
    state, problems, scratch = State(options.state), [], Path(tempfile.mkdtemp(prefix="relucent-test-"))
    try:
        for kind in writers.WRITERS:
            if options.writers and kind.name not in options.writers:
                continue
            own = scratch / re.sub(r"\W+", "-", kind.name)
            own.mkdir()
            try:
                trials = Trials(kind(options.program, options.size), own, keep=options.keep)
            except writers.Absent as absent:
                print(f"SKIPPED: {kind.name}: {absent} is absent", flush=True)
                continue
            run_writer(trials, options, state, problems)
            shutil.rmtree(own)
        survived = sum(1 for value in state.done.values() if value[1] == "survived")
        print(f"{len(state.done)} kills, {survived} survived")
        if problems or survived < len(state.done):
            sys.exit("FAILED")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
