#!/usr/bin/env python3
"""Lets each file system call of each writing command fail once, and looks at what remains.

After a call that failed, the command must succeed with what the undisturbed command leaves, or end with an error that
names a file; readers must find what was there before, what the whole command leaves, or a state on the way that the
command promises; and the same command, run again, must succeed and leave what the undisturbed command leaves, and no
unfinished file. Every call from the first to the last must have failed in a run of its own.

Usage: system_call_faults_test.py PROGRAM TRACER [--writers NAME ...] [--faults NAME ...] [--sample N] [--at-most N]
                                  [--size N] [--state FILE] [--jobs N] [--keep FOLDER]
  --sample N    only every Nth call, from a random one
  --at-most N   of each fault only N calls, at random
  --state FILE  what was done, as JSON lines; a run with the same file resumes

Exits with 77 if what the writers need is absent.
"""
import collections
import concurrent.futures
import os
import random
import sys
import time

from trials import State, parser_of, trials_of

FAULTS = ("enospc", "eio", "eintr", "short", "kill")


def run_fault(trials, fault, options, state, problems):
    """The number of calls that failed, and how the command ended, by its counts."""
    name, outcomes = trials.writer.name, collections.Counter()
    calls = trials.count(fault)
    step = options.sample or 1
    first = random.Random(f"{name} {fault} {options.seed}").randrange(step) + 1
    wanted = list(range(first, calls + 1, step))
    if options.at_most:
        wanted = sorted(random.sample(wanted, min(len(wanted), options.at_most)))
    open_calls = [call for call in wanted if state.get(name, fault, call) is None]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for call, (failed, system_call, outcome, problem) in zip(
                open_calls, pool.map(lambda call: trials.trial(fault, call), open_calls)):
            if failed is None:
                # Threads make the number of calls vary by a few.
                outcome, problem = "not reached", ""
            if problem:
                problems.append(problem)
                print("PROBLEM: " + problem, flush=True)
            else:
                state.put((name, fault, call), (system_call, outcome))
            outcomes[outcome or "wrong"] += 1
    for call in set(wanted) - set(open_calls):
        outcomes[state.get(name, fault, call)[1]] += 1
    missing = outcomes["not reached"]
    if missing > options.missing:
        problems.append(f"{name}: {fault}: {missing} of {len(wanted)} calls were not reached, so they never failed")
        print("PROBLEM: " + problems[-1], flush=True)
    return len(wanted) - missing, outcomes


def main():
    parser = parser_of(__doc__, size=6)
    parser.add_argument("tracer", type=os.path.abspath)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=FAULTS)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--at-most", type=int, default=0)
    parser.add_argument("--missing", type=int, default=0)
    options = parser.parse_args()
    state, problems = State(options.state), []
    started, tried = time.monotonic(), 0
    for trials in trials_of(options, options.tracer):
        tried += 1
        for fault in options.faults:
            failed, outcomes = run_fault(trials, fault, options, state, problems)
            ends = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
            print(f"{trials.writer.name}: {fault}: {failed} calls failed once: {ends}", flush=True)
    print(f"{time.monotonic() - started:.0f} s")
    if problems:
        sys.exit(f"FAILED: {len(problems)} problems")
    if tried == 0:
        sys.exit(77)


if __name__ == "__main__":
    main()
