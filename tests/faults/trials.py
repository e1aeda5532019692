"""A trial of a writing command: a copy of what it starts from, the command disturbed, and a look at what remains."""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import writers

KILLED = 128 + 9


class Trials:
    """The trials of one writer."""

    def __init__(self, writer, scratch, tracer=None, keep=None):
        self.writer, self.scratch, self.tracer, self.keep = writer, scratch, tracer, keep
        self.observed, self.tried, self.lock = {}, {}, threading.Lock()
        self.pristine = scratch / "pristine"
        self.pristine.mkdir()
        writer.prepare(self.pristine)
        self.before = self.observe(self.pristine)
        whole = self.copy("whole")
        result = self.run(whole)
        if result.returncode != 0:
            sys.exit(f"FAILED: {writer.name} without a fault ended with {result.returncode}\n{result.stderr}")
        self.after = writer.whole = self.observe(whole)
        if self.after == self.before:
            sys.exit(f"FAILED: {writer.name} changed nothing")

    def copy(self, name):
        folder = self.scratch / name
        shutil.copytree(self.pristine, folder)
        return folder

    def run(self, folder, tracing=()):
        return self.writer.execute(folder, self.tracer, list(map(str, tracing)))

    def observe(self, folder):
        key = writers.fingerprint(folder)
        with self.lock:
            if key in self.observed:
                return self.observed[key]
        found = self.writer.observe(folder)
        with self.lock:
            self.observed[key] = found
        return found

    def trace(self, folder, fault, call, more=()):
        report = folder.with_name(folder.name + ".report")
        result = self.run(folder, ["--under", folder, "--fault", fault, "--call", call, *more, "--report", report])
        text = report.read_text() if report.exists() else ""
        failed = re.search(r"^failed (\d+) (\S+) (.*)$", text, re.MULTILINE)
        counted = re.search(r"^calls (\d+)$", text, re.MULTILINE)
        if result.returncode == 70 or not counted:
            sys.exit(f"FAILED: the tracer: {result.stderr}")
        return result, failed and (int(failed[1]), failed[2], failed[3]), int(counted[1])

    def count(self, fault):
        folder = self.copy(f"count-{fault}")
        _, _, calls = self.trace(folder, fault, 0)
        shutil.rmtree(folder)
        return calls

    def trial(self, fault, call):
        """(call or None if there were fewer, system call, outcome, problem or "")."""
        folder = self.copy(f"{fault}-{call}")
        try:
            result, failed, _ = self.trace(folder, fault, call)
            if failed is None:
                return None, "", "", ""
            names = parts_of(failed[2], folder)
            may_leave_unfinished = fault == "kill" or failed[1] in ("unlink", "unlinkat", "rmdir")
            if (result.returncode == KILLED) != (fault == "kill"):
                outcome, problem = "", f"it ended with {result.returncode}: {result.stderr}"
            else:
                outcome, problem = self.judge(folder, result, names, may_leave_unfinished)
            if problem:
                problem = f"{self.writer.name}: {fault} at call {call}, {failed[1]} {failed[2]}: {problem}"
                self.keep_folder(folder)
            return failed[0], failed[1], outcome, problem
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_name(folder.name + ".report").unlink(missing_ok=True)

    def keep_folder(self, folder):
        if self.keep:
            shutil.copytree(folder, Path(self.keep) / folder.name, dirs_exist_ok=True)

    def run_again(self, folder):
        """What is wrong with the next run, or "", and the unfinished files that remain; no state is tried twice."""
        key = writers.fingerprint(folder)
        with self.lock:
            if key in self.tried:
                return self.tried[key]
        again = self.run(folder)
        if again.returncode != 0:
            problem = f"the next run ended with {again.returncode}: {again.stderr.strip()[-600:]}"
        else:
            problem = "" if self.observe(folder) == self.after else "the next run leaves something else"
        with self.lock:
            self.tried[key] = problem, unfinished_in(folder)
            return self.tried[key]

    def judge(self, folder, result, names, may_leave_unfinished):
        """How the command ended, and what is wrong with that or with what it left, or "".

        names: what an error may name, one of them; the writer has more.
        """
        writer, message, code = self.writer, result.stderr.strip(), result.returncode
        ended = f"it ended with {code}: {message[-600:]}"
        outcome = {0: "succeeded", 1: "reported", 3: "reported", 4: "degraded", KILLED: "killed"}.get(code)
        if outcome is None:
            return "", ended
        if outcome in ("reported", "degraded") and (
                not re.search(r"^relucent(-train)?: error: ", message, re.MULTILINE) or
                not any(is_named(name, message) for name in {*writer.names, *names})):
            return outcome, "the message names no file: " + ended
        try:
            found = self.observe(folder)
        except Exception as error:  # whatever the state makes a reader do
            return outcome, f"what remains cannot be read: {error}; {ended}"
        if code == 0 and found != self.after and not writer.is_cache and not writer.tells(folder):
            return outcome, "it succeeded, but not with what the undisturbed command leaves: " + message
        if found not in (self.before, self.after) and not writer.is_between(found) and not (
                outcome == "degraded" and writer.is_part(found)):
            return outcome, f"what remains is neither old nor new: {str(found)[:300]}; {ended}"
        unfinished = unfinished_in(folder)
        if code != 0 or writer.is_cache:  # after a success there is nothing left to do
            if code == KILLED:
                writer.after_kill(folder)
            problem, unfinished = self.run_again(folder)
            if problem:
                return outcome, f"{problem}; {ended}"
        if unfinished and not may_leave_unfinished:
            return outcome, f"unfinished files remain: {unfinished}; {ended}"
        return outcome, ""


def unfinished_in(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if writers.UNFINISHED.search(path.name)]


def is_named(name, message):
    """Not within a word: "out" is not named by "Input/output error"."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message)


def parts_of(file, folder):
    """The names on the way to the file, unfinished files by the names that they will have."""
    return {writers.UNFINISHED.sub("", part) for part in Path(file).relative_to(folder.resolve()).parts} | {folder.name}


class State:
    """The trials done, kept in a file."""

    def __init__(self, path):
        self.done, self.file = {}, None
        if path:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as lines:
                    for line in lines:
                        if line.endswith("\n"):
                            entry = json.loads(line)
                            self.done[tuple(entry[:3])] = entry[3:]
            self.file = open(path, "a", encoding="utf-8")

    def get(self, *key):
        return self.done.get(key)

    def put(self, key, value):
        self.done[key] = value
        if self.file:
            self.file.write(json.dumps([*key, *value]) + "\n")
            self.file.flush()


def parser_of(description, size):
    """The options that the programs which try all writers share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--writers", nargs="+", choices=[kind.name for kind in writers.WRITERS])
    parser.add_argument("--size", type=int, default=size)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--state")
    parser.add_argument("--keep")
    return parser


def trials_of(options, tracer=None):
    """The trials of one chosen writer after the other, in a folder that is removed afterwards."""
    scratch = Path(tempfile.mkdtemp(prefix="relucent-test-"))
    try:
        for kind in writers.WRITERS:
            if options.writers and kind.name not in options.writers:
                continue
            own = scratch / re.sub(r"\W+", "-", kind.name)
            own.mkdir()
            try:
                trials = Trials(kind(options.program, options.size), own, tracer, options.keep)
            except writers.Absent as absent:
                print(f"SKIPPED: {kind.name}: {absent} is absent", flush=True)
                continue
            yield trials
            shutil.rmtree(own)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
