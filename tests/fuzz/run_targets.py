#!/usr/bin/env python3
"""Runs the fuzz targets in turn for some minutes and adds the sums to a table that earlier runs began.

    python3 tests/fuzz/run_targets.py BUILD                     ten minutes over all targets; again: ten more
    python3 tests/fuzz/run_targets.py BUILD --minutes 30 --only index,query
    python3 tests/fuzz/run_targets.py BUILD --minutes 60 --slice 600      fewer starts, each of which reads all inputs
    python3 tests/fuzz/run_targets.py BUILD --coverage          only measures the coverage of the inputs found so far
    python3 tests/fuzz/run_targets.py BUILD --keep              makes tests/fuzz/corpus from them: the smallest inputs
                                                                that reach everything

BUILD is a build with the preset `fuzz`. BUILD/fuzz/state has what was found: TARGET/inputs, findings/TARGET-*, and
table.json. The target with the fewest seconds is next, so runs of any length share the time evenly. Exits with 1 if
there are findings.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
SLICE = 60  # seconds that a target runs before the next one's turn, unless --slice states others
SECONDS_PER_INPUT = 20
MEGABYTES = 2048
MEMORY = "/dev/shm"  # for what targets write, where there is such a folder
LEAKS_AT_THE_END = ("index", "query")  # AddressSanitizer looks for leaks when the program ends
MOST_BYTES = 60_000  # of the kept inputs of a target; the smallest ones come first

# What each target reads: the files whose lines its coverage counts.
READERS = {
    # Weights are read by model/families/tensor_reader.cpp; the other files of families also assign them.
    "config_json": ["model/families/[!t]*.cpp", "model/families/t5.cpp", "model/formats/json_file.cpp"],
    "safetensors": ["model/formats/safetensors.cpp", "model/formats/safetensors_header.cpp"],
    "tokenizer_json": ["model/tokenizer/tokenizer_json.cpp", "model/tokenizer/component.cpp",
                       "model/tokenizer/tokenizer_class.cpp", "model/tokenizer/added_tokens.cpp",
                       "model/tokenizer/base64.cpp", "model/tokenizer/bpe_model.cpp",
                       "model/tokenizer/byte_level.cpp", "model/tokenizer/character_table.cpp",
                       "model/tokenizer/normalizer.cpp", "model/tokenizer/pipeline.cpp",
                       "model/tokenizer/pre_tokenizer.cpp", "model/tokenizer/precompiled_charsmap.cpp",
                       "model/tokenizer/text_pattern.cpp", "model/tokenizer/token_model.cpp",
                       "model/tokenizer/unicode_*.cpp", "model/tokenizer/unigram_model.cpp",
                       "model/tokenizer/vocabulary_trie.cpp", "model/tokenizer/word_table.cpp",
                       "model/tokenizer/wordpiece_model.cpp"],
    "vocabulary": ["model/tokenizer/vocabulary_file.cpp", "model/tokenizer/wordpiece.cpp",
                   "model/tokenizer/load_tokenizer.cpp"],
    "sentencepiece": ["model/tokenizer/sentencepiece.cpp", "model/tokenizer/sentencepiece_file.cpp",
                      "model/tokenizer/precompiled_charsmap.cpp"],
    "pickle": ["index_tools/pytorch/*.cpp"],
    "profile": ["config/parse.cpp", "config/schema.cpp", "config/toml_text.cpp", "config/write.cpp"],
    "experiment": ["index_tools/experiments/experiment_file.cpp", "index_tools/experiments/toml_table.cpp",
                   "index_tools/experiments/row_lists.cpp", "index_tools/experiments/experiment_parts.cpp"],
    "records": ["plugin/index_format/records/records_format.cpp", "plugin/index_format/records/segment_records.cpp",
                "model/graphs/graph_record.cpp", "plugin/second_stage/graph_settings.cpp"],
    "corpus": ["index_tools/corpora/*.cpp"],
    "evaluation": ["index_tools/evaluation/topics.cpp", "index_tools/evaluation/markup_topics.cpp",
                   "index_tools/evaluation/qrels.cpp", "index_tools/evaluation/run.cpp",
                   "index_tools/evaluation/rerank_input.cpp", "index_tools/evaluation/dialogues.cpp",
                   "index_tools/evaluation/json_fields.cpp", "index_tools/evaluation/text_lines.cpp"],
    "shard_answer": ["server/shard_answers.cpp", "server/statistics_json.cpp"],
    "http_request": ["server/request_parser.cpp", "server/routes.cpp", "server/json.cpp", "server/rerank_requests.cpp",
                     "server/search_requests.cpp", "server/document_requests.cpp", "server/origin.cpp",
                     "server/result_json.cpp", "server/trace.cpp"],
    # The rest of plugin/lucene/queries is for queries that a program makes and no text can describe.
    "query": ["plugin/lucene/queries/query_text.cpp", "plugin/lucene/queries/rescoring_query_parser.cpp",
              "plugin/lucene/queries/syntax_problem.cpp", "plugin/lucene/queries/text_query.cpp",
              "plugin/lucene/bm25/query_compiler.cpp",
              "plugin/index_format/fields/filter.cpp", "plugin/lucene/search/field_filter.cpp"],
    "index": ["plugin/index_format/check/*.cpp", "plugin/index_format/segment/block_sums.cpp",
              "plugin/index_format/segment/deletions.cpp", "plugin/index_format/segment/file_input.cpp",
              "plugin/lucene/index/checked_directory.cpp", "plugin/lucene/index/commit_check.cpp",
              "plugin/lucene/index/commit_point.cpp", "plugin/lucene/index/segment_list.cpp",
              "plugin/lucene/index/stored_fields.cpp", "plugin/lucene/index/postings.cpp",
              "plugin/lucene/index/index_reader.cpp"],
}


class Runs:
    def __init__(self, build):
        self.programs = build / "fuzz"
        self.state = self.programs / "state"
        self.findings = self.state / "findings"
        self.findings.mkdir(parents=True, exist_ok=True)
        self.path = self.state / "table.json"
        self.table = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.targets = [name for name in READERS if (self.programs / f"fuzz_{name}").exists()]
        if not self.targets:
            sys.exit(f"{self.programs} has no targets: cmake --preset fuzz && cmake --build --preset fuzz")
        self.seeds = self.state / "seeds"
        subprocess.run([sys.executable, ROOT / "tests/fuzz/make_seeds.py", self.seeds], check=True,
                       stdout=subprocess.DEVNULL)
        for name in self.targets:
            self.inputs(name).mkdir(parents=True, exist_ok=True)
            self.table.setdefault(name, {"seconds": 0, "executions": 0, "findings": 0})

    def inputs(self, name):
        return self.state / name / "inputs"

    def save(self):
        scratch = self.path.with_suffix(".part")
        scratch.write_text(json.dumps(self.table, indent=1))
        scratch.replace(self.path)

    def start(self, name, *arguments, profile="/dev/null", program=None):
        """Runs a target with its temporary files in a folder that a crash leaves behind, and removes that."""
        folder = MEMORY if os.access(MEMORY, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="relucent-fuzz-", dir=folder) as scratch:
            # A small quarantine is used again while it is in the processor's cache; few inputs free more. Whole stacks
            # of each allocation take a fifth of the time; a target that is started by hand prints them.
            asan = "detect_leaks=1:allocator_may_return_null=0:quarantine_size_mb=16:malloc_context_size=2"
            environment = dict(os.environ, TMPDIR=scratch, LLVM_PROFILE_FILE=str(profile), RELUCENT_CUDA_MODULE="none",
                               XDG_CACHE_HOME=scratch,
                               ASAN_OPTIONS=asan + (":detect_odr_violation=0" if program else ""),
                               UBSAN_OPTIONS="print_stacktrace=1")
            return subprocess.run([program or self.programs / f"fuzz_{name}", *map(str, arguments)], cwd=ROOT,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")

    def options(self, name, compare):
        """libFuzzer's, for a run that looks for bugs; `compare`: new results of comparisons are new coverage.

        Without entropic schedules, which take more time than most targets do.
        """
        words = self.seeds / f"{name}.dict"
        dictionary = [f"-dict={words}"] if words.exists() and words.stat().st_size > 0 else []
        # Caches grow with most inputs of some targets, which libFuzzer would then run twice and look for leaks after.
        leaks = ["-detect_leaks=0"] if name in LEAKS_AT_THE_END else []
        return [*leaks, *self.limits(), *dictionary, "-print_final_stats=1", "-reload=0", "-max_len=20000",
                "-entropic=0", f"-use_value_profile={int(compare)}"]

    @staticmethod
    def limits():
        return [f"-timeout={SECONDS_PER_INPUT}", f"-rss_limit_mb={MEGABYTES}", f"-malloc_limit_mb={MEGABYTES}"]

    @staticmethod
    def executions_in(output):
        return int((re.findall(r"stat::number_of_executed_units: *(\d+)", output) or
                    re.findall(r"(?m)^#(\d+)", output) or ["0"])[-1])

    def fuzz(self, name, seconds):
        kept = [folder for folder in (CORPUS / name, self.seeds / name) if folder.is_dir()]
        row = self.table[name]
        row["slices"] = row.get("slices", 0) + 1
        compare = row["slices"] % 3 == 0  # slower, and it keeps many inputs
        began = time.monotonic()
        run = self.start(name, self.inputs(name), *kept, f"-max_total_time={seconds}",
                         *self.options(name, compare), f"-artifact_prefix={self.findings}/{name}-")
        row["seconds"] += round(time.monotonic() - began)
        row["executions"] += self.executions_in(run.stdout)
        if run.returncode != 0 and not self.was_only_stopped(name, run.stdout):
            row["findings"] += 1
            log = self.findings / f"{name}-{row['findings']}.log"
            log.write_text(run.stdout)
            summary = re.findall(r"FINDING: .*|SUMMARY: .*|runtime error: .*", run.stdout)
            print(f"{name}: a finding, in {log}: {summary[0] if summary else run.returncode}", flush=True)
        self.save()

    def was_only_stopped(self, name, output, program=None):
        """Whether an input took too long in a machine that was busy or asleep: it passes now. Then it is removed."""
        inputs = re.findall(r"Test unit written to (\S+-timeout-\w+)", output)
        if not inputs or self.start(name, inputs[0], f"-timeout={SECONDS_PER_INPUT}",
                                     program=program).returncode != 0:
            return False
        Path(inputs[0]).unlink()
        return True

    def measure(self, name):
        """The share of the lines of the target's readers that its inputs reach."""
        tools = [shutil.which(f"{tool}-14") or shutil.which(tool) for tool in ("llvm-profdata", "llvm-cov")]
        if None in tools:
            return
        profile = self.state / name / "profile"
        folders = [folder for folder in (self.inputs(name), CORPUS / name, self.seeds / name) if folder.is_dir()]
        self.start(name, "-runs=0", f"-artifact_prefix={self.findings}/{name}-", *folders, profile=profile)
        if not profile.exists():
            return
        subprocess.run([tools[0], "merge", "-sparse", profile, "-o", f"{profile}.data"], check=True)
        sources = sorted(str(path) for pattern in READERS[name] for path in ROOT.glob(pattern))
        report = subprocess.run([tools[1], "export", "-summary-only", f"-instr-profile={profile}.data",
                                 self.programs / f"fuzz_{name}", *sources], stdout=subprocess.PIPE, check=True)
        files = json.loads(report.stdout)["data"][0]["files"]
        row = self.table[name]
        row["lines"] = sum(file["summary"]["lines"]["count"] for file in files)
        row["covered"] = sum(file["summary"]["lines"]["covered"] for file in files)
        row["inputs"] = len(list(self.inputs(name).iterdir()))
        row["files"] = {os.path.relpath(file["filename"], ROOT): round(file["summary"]["lines"]["percent"])
                        for file in files}
        self.save()

    def keep(self, name):
        """Makes the corpus of the smallest inputs that reach everything, and the seeds of findings."""
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            sources = [source for source in (CORPUS / name, self.seeds / name, self.inputs(name)) if source.is_dir()]
            self.start(name, "-set_cover_merge=1", folder, *sources)
            room = MOST_BYTES
            for file in sorted(Path(folder).iterdir(), key=lambda file: file.stat().st_size):
                room -= file.stat().st_size
                if room < 0:
                    break
                if not (CORPUS / name / file.name).exists():
                    shutil.copyfile(file, CORPUS / name / file.name)

    def print_table(self):
        print(f"{'target':16}{'executions':>12}{'seconds':>9}{'inputs':>8}{'lines':>8}{'covered':>9}{'findings':>10}")
        for name, row in self.table.items():
            covered = f"{100 * row['covered'] / row['lines']:.0f} %" if row.get("lines") else "-"
            print(f"{name:16}{row['executions']:12,}{row['seconds']:9,}{row.get('inputs', 0):8,}"
                  f"{row.get('lines', 0):8,}{covered:>9}{row['findings']:10}")
        rows = self.table.values()
        print(f"{'all':16}{sum(row['executions'] for row in rows):12,}{sum(row['seconds'] for row in rows):9,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default="", help="names of targets, separated by commas")
    parser.add_argument("--slice", type=float, default=SLICE, help="seconds until the next target's turn")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    runs = Runs(arguments.build.resolve())
    names = [name for name in runs.targets if not arguments.only or name in arguments.only.split(",")]
    before = sum(runs.table[name]["findings"] for name in names)
    if arguments.keep:
        for name in names:
            runs.keep(name)
    elif not arguments.coverage:
        end = time.monotonic() + 60 * arguments.minutes
        while (left := end - time.monotonic()) > 1:
            next_one = min(names, key=lambda name: runs.table[name]["seconds"])
            runs.fuzz(next_one, round(min(arguments.slice, max(left, 1))))
    if not arguments.keep:
        for name in names:
            runs.measure(name)
        runs.print_table()
    if sum(runs.table[name]["findings"] for name in names) > before:
        sys.exit(1)


if __name__ == "__main__":
    main()
