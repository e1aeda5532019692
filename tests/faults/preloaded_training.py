#!/usr/bin/env python3
"""relucent-train many times, in forks of a process that has imported PyTorch; a small training takes less than that.

Usage: preloaded_training.py TRACER
  TRACER  the module that system_call_faults.cpp makes

Standard input has a JSON object per run: "folder" and "arguments" of the command, "tracer", the options of the tracer
or [], "output" and "error", files for what the command writes, and "answer", a pipe that receives the exit status.
"""
import atexit
import ctypes
import gc
import itertools
import json
import os
import signal
import sys
import traceback
import types

import torch._dynamo  # which the first optimizer imports, for as long as PyTorch itself takes

from relucent_search.train import cli, trainer

# A training keeps its speed: with this clock the same steps leave the same state, which is looked at once.
trainer.time = types.SimpleNamespace(monotonic=itertools.count().__next__)


def redirect(name, flags, descriptor):
    opened = os.open(name, flags, 0o666)
    os.dup2(opened, descriptor)
    os.close(opened)


def run_command(arguments):
    """Ends the process as Python does, without giving back what it shares with the first one, which takes seconds."""
    try:
        code = cli.main(arguments)
    except Exception:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def carry_out(job, tracer):
    """Ends this process, after another one that is the command."""
    command = os.fork()
    if command == 0:
        os.chdir(job["folder"])
        redirect(os.devnull, os.O_RDONLY, 0)
        redirect(job["output"], os.O_WRONLY | os.O_CREAT, 1)
        redirect(job["error"], os.O_WRONLY | os.O_CREAT, 2)
        if job["tracer"]:
            tracer.system_call_faults_be_traced()
        run_command(job["arguments"])
    if job["tracer"]:
        options = [b"system_call_faults", *map(os.fsencode, job["tracer"])]
        code = tracer.system_call_faults_follow(len(options), (ctypes.c_char_p * len(options))(*options), command)
    else:
        code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with open(job["answer"], "w", encoding="ascii") as answer:
        answer.write(str(code))
    os._exit(0)


def main():
    tracer = ctypes.CDLL(sys.argv[1])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait
    gc.freeze()
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            carry_out(json.loads(line), tracer)
    os._exit(0)  # some of PyTorch's libraries print what they do not free


if __name__ == "__main__":
    main()
