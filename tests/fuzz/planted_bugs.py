#!/usr/bin/env python3
"""Plants bugs in the readers, one at a time, and expects the fuzz targets to find each.

    planted_bugs.py BUILD [--targets TARGET,...] [--only NAME,...] [--minutes N] [--jobs N] [--enough]
                    [--list | --table]

bugs.py lists them. BUILD is a build with the preset `fuzz`. The changed file is compiled as in BUILD and linked in
front of the library that has it. The target then starts with the inputs of make_seeds.py alone, without those that
earlier runs found. Results are kept in BUILD/fuzz/planted, so that an interrupted run resumes, and only what changed is
run again. Exits with 1 if a target did not find ten bugs (with --only, all of those), if a bug does not compile, or if
what was found also fails without the bug. --enough leaves out the others of a target that has found ten. --table prints
the results that are kept, and runs nothing.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import re
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

from bugs import BUGS
from run_targets import ROOT, Runs

ENOUGH = 10  # bugs that each target must find


@functools.cache
def digest_of(program):
    return hashlib.sha256(program.read_bytes()).hexdigest()


class Planted:
    """One bug in a build."""

    def __init__(self, runs, bug):
        self.runs = runs
        self.build = runs.programs.parent
        self.name, self.target, self.file, old, new = bug
        text = (ROOT / self.file).read_text()
        if text.count(old) != 1:
            sys.exit(f"bug {self.name}: {text.count(old)} places in {self.file} are like this: {old!r}")
        self.source = text.replace(old, new)
        self.folder = runs.programs / "planted" / self.name

    def key(self):
        return hashlib.sha256(self.source.encode()).hexdigest() + digest_of(self.runs.programs / f"fuzz_{self.target}")

    def compiled(self):
        """The changed file by itself; in the build it may be one of several in a unity source."""
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            unity = Path(entry["file"])
            if unity == ROOT / self.file or ("Unity" in unity.parts and f"/{self.file}\"" in unity.read_text()):
                words = shlex.split(entry["command"])
                copy, result = self.folder / Path(self.file).name, self.folder / "planted.o"
                copy.write_text(self.source)
                words[words.index("-o") + 1] = str(result)
                words[-1] = str(copy)  # after -c
                words.insert(-2, f"-I{(ROOT / self.file).parent}")
                subprocess.run(words, cwd=entry["directory"], check=True, capture_output=True, text=True)
                return result
        sys.exit(f"{self.build} does not compile {self.file}")

    def program(self):
        """The target with the bug: of two definitions the linker takes the first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = self.folder / f"fuzz_{self.target}"
        output = f"-o fuzz/fuzz_{self.target} "
        commands = subprocess.run(["ninja", "-t", "commands", output.split()[1]], cwd=self.build, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
        link = commands.rstrip().splitlines()[-1]
        assert output in link, link
        link = link.replace(output, f"{self.compiled()} -o {program} -Wl,--allow-multiple-definition ")
        subprocess.run(link, cwd=self.build, shell=True, check=True, capture_output=True, text=True)
        return program

    def finding(self, output):
        """The input that was written, if the target without the bug fails with it too: the code has another mistake."""
        inputs = re.findall(r"Test unit written to (\S+)", output)
        if inputs and self.runs.start(self.target, inputs[-1], *self.runs.limits()).returncode != 0:
            return inputs[-1]
        return None

    def run(self, seconds):
        program = self.program()
        inputs = self.folder / "inputs"
        inputs.mkdir(exist_ok=True)
        began = time.monotonic()
        found, executions, log, finding = False, 0, "", None
        for compare in (False, True):  # as run_targets.py does in turns
            run = self.runs.start(self.target, inputs, self.runs.seeds / self.target, f"-max_total_time={seconds // 2}",
                                  *self.runs.options(self.target, compare), f"-artifact_prefix={self.folder}/",
                                  program=program)
            executions += self.runs.executions_in(run.stdout)
            log += run.stdout
            found = run.returncode != 0 and not self.runs.was_only_stopped(self.target, run.stdout, program)
            if found:
                finding = self.finding(run.stdout)
                break
        program.unlink()  # large
        (self.folder / "log").write_text(log)
        reason = re.findall(r"FINDING: .*|ERROR: (?:Address|libFuzz)\w+: [^(\n]*|runtime error: .*", log)
        return {"found": found and finding is None, "finding": finding, "executions": executions,
                "seconds": round(time.monotonic() - began), "reason": reason[0].strip() if reason else ""}


def print_row(name, target, result):
    if result is None:
        print(f"{name:30} {target:16} {'not tried':>10}")
        return
    reason = result["reason"] if result["found"] else "NOTHING"
    if result.get("finding"):
        reason = f"A FINDING, without the bug too: {result['finding']}: {result['reason']}"
    print(f"{name:30} {target:16} {result['executions']:10,} {result['seconds']:5}  {reason}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--targets", default="", help="names of targets, separated by commas")
    parser.add_argument("--only", default="", help="names of bugs, separated by commas")
    parser.add_argument("--minutes", type=float, default=5, help="for one bug")
    parser.add_argument("--jobs", type=int, default=1, help="bugs at a time")
    parser.add_argument("--enough", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    chosen = {target for target in BUGS if not options.targets or target in options.targets.split(",")}
    bugs = [(name, target, *change) for target in BUGS if target in chosen
            for name, *change in BUGS[target] if not options.only or name in options.only.split(",")]
    if options.list:
        print("\n".join(f"{name:30} {target:16} {file}" for name, target, file, _, _ in bugs))
        return 0
    runs = Runs(options.build.resolve())
    path = runs.programs / "planted/results.json"
    path.parent.mkdir(exist_ok=True)
    planted = [Planted(runs, bug) for bug in bugs]
    keys = {bug.name: bug.key() for bug in planted}
    # Results of these bugs count only for the same sources and target; those of other bugs stay in the file.
    kept = json.loads(path.read_text()) if path.exists() else {}
    results = {name: result for name, result in kept.items() if keys.get(name) in (None, result["key"])}
    lock = threading.Lock()

    def is_found(bug):
        return results.get(bug.name, {}).get("found", False)

    def found_by(target):
        return sum(is_found(bug) for bug in planted if bug.target == target)

    def plant(bug):
        """Whether the bug compiles, and nothing but the bug was found."""
        if not is_found(bug) and not (options.enough and found_by(bug.target) >= ENOUGH):
            try:
                result = {"key": keys[bug.name], **bug.run(round(60 * options.minutes))}
            except subprocess.CalledProcessError as error:
                print(f"{bug.name} does not compile or link:\n{error.stderr}", flush=True)
                return False
            with lock:
                results[bug.name] = result
                part = path.with_suffix(".part")
                part.write_text(json.dumps(results, indent=1))
                part.replace(path)
        result = results.get(bug.name)
        if result:
            print_row(bug.name, bug.target, result)
        return not (result and result.get("finding"))

    print(f"{'bug':30} {'target':16} {'executions':>10} {'s':>5}  found by", flush=True)
    if options.table:
        for bug in planted:
            print_row(bug.name, bug.target, results.get(bug.name))
        sound = True
    else:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            sound = all(list(pool.map(plant, planted)))
    for target in sorted({bug.target for bug in planted}):
        of_target = [bug for bug in planted if bug.target == target]
        tried = sum(bug.name in results for bug in of_target)
        sound &= found_by(target) >= min(ENOUGH, len(of_target))
        print(f"{target:16} found {found_by(target)} of {tried} bugs that were tried")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
