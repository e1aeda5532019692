#!/usr/bin/env python3
"""Kills each writing command at random moments, and looks at what remains.

Readers must find what was there before, what the whole command leaves, or a state on the way that the command promises;
the same command, run again, must succeed and leave what the undisturbed command leaves.

Usage: kills_test.py PROGRAM [--writers NAME ...] [--kills N] [--size N] [--state FILE] [--jobs N] [--keep FOLDER]
  --kills N     of each writer
  --state FILE  the kills done, as JSON lines; a run with the same file resumes
"""
import collections
import concurrent.futures
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import writers
from trials import KILLED, State, parser_of, trials_of


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
    parser = parser_of(__doc__, size=120)
    parser.add_argument("--kills", type=int, default=90)
    options = parser.parse_args()
    state, problems = State(options.state), []
    for trials in trials_of(options):
        run_writer(trials, options, state, problems)
    survived = sum(1 for value in state.done.values() if value[1] == "survived")
    print(f"{len(state.done)} kills, {survived} survived")
    if problems or survived < len(state.done):
        sys.exit("FAILED")


if __name__ == "__main__":
    main()
