#!/usr/bin/env python3
"""Breaks the CUDA kernels on purpose, one place at a time, and expects the emulator or a comparison to notice each.

    mutants.py BUILD [--quick] [--only NAME,...] [--list]

Mutants are every barrier, every __syncwarp and every wait for asynchronous copies in kernels/cuda, which are found in
the sources and removed or weakened, and those written down below: swapped operands, misaligned rows, one buffer instead
of two, and so on. Each one is compiled as the build BUILD compiles its file, linked with that build's other objects and
run by the tests that reach the kernel. The same is done first with the sources as they are, which must pass.

Results are kept in BUILD/mutants, so that an interrupted run resumes, and only what changed is run again. --quick takes
a few mutants of different kinds. Exit code 1: a mutant survived, or nothing could be judged.
"""
import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
KERNELS = ROOT / "kernels/cuda"
LIMIT_S = 600

AGREEMENT = "kernels_agreement"
# The tests that reach each file's kernels: program and filter.
TESTS = {
    "attention.cu": (AGREEMENT, "*ManySizes*fp16:*LongAndShort*fp16:*OfGlobalTokens*fp16"),
    "exact_attention.cu": (AGREEMENT, "*ManySizes*fp32:*LongAndShort*fp32"),
    "last_attention.cu": (AGREEMENT, "*ManySizes*fp16:*ManySizes*fp32:*LongAndShort*fp16:*LongAndShort*fp32"),
    "interaction.cu": ("kernels_mix_encoder", "*Compute*fp32"),
    "exchange.cu": ("kernels_exchanges", "*AreThose*fp32"),
    "norm.cu": (AGREEMENT, "*ManySizes*fp16"),
    "activation.cu": (AGREEMENT, "*WithLateInteraction*fp16:*WithWhatOtherFamiliesNeed*fp16"),
}

# What no pattern finds: (name, file, as it is in one place or more, as it must not be).
WRITTEN = [
    ("swapped-keys", "attention.cu", "{key.x, key.y}", "{key.y, key.x}"),
    ("swapped-values", "attention.cu", "{{low.x, high.x}, {low.y, high.y}", "{{low.x, high.x}, {high.y, low.y}"),
    ("untransposed-values", "attention.cu", "transposed(words[n][1])", "words[n][1]"),
    ("queries-of-one-half", "attention.cu", "{query[0].x, query[1].x, query[0].y, query[1].y}",
     "{query[0].x, query[0].x, query[0].y, query[1].y}"),
    ("keys-of-the-first-tile", "attention.cu", "own = slot + 8 * t + lane() / 4", "own = slot + lane() / 4"),
    ("behind-the-last-slot", "attention.cu", "own < last ? own : last", "own < last ? own : own"),
    ("rows-behind-the-tile", "attention.cu", "if (row >= tile.tokens) continue;", ""),
    ("misaligned-heads", "attention.cu", "work.head_size + lane() % 4 * 8)", "work.head_size + lane() % 4 * 4)"),
    ("wide-windows", "keys.h", "high = index + window + 1 - first", "high = index + window + 2 - first"),
    ("swapped-query-fragments", "last_attention.cu", "{low.x, high.x, low.y, high.y}",
     "{low.x, low.y, high.x, high.y}"),
    ("untransposed-sums", "last_attention.cu", "transposed(high.z)", "high.z"),
    ("misaligned-weights", "last_attention.cu", "kWeightStride = kSegmentSlots + 8",
     "kWeightStride = kSegmentSlots + 4"),
    ("misaligned-gamma", "norm.cu", "load(norm.gamma + first", "load(norm.gamma + 1 + first"),
    ("no-rescaling", "attention.cu", "total[half] = fmaf(total[half], keep, sum)", "total[half] = total[half] + sum"),
    ("parts-overlap", "keys.h", "first = parts == 1 ? 0 : chunks * tile.index / parts", "first = 0"),
    ("parts-without-maximum", "attention.cu", "power(of_part[work.head_size] - highest)", "power(0)"),
    ("sets-of-one", "keys.h", "cls *= work.sequence_count", "cls *= 1"),
    ("rms-less-the-mean", "norm.cu", "norm.rms ? 0.0F : warp_sum", "warp_sum"),
    ("sums-without-bias", "norm.cu", "if (bias != nullptr) features.add_row", "if (false) features.add_row"),
    ("sums-not-kept", "norm.cu", "features.store_row(x + first, hidden, lane);\n  }\n  features.normalize_to(normed",
     "}\n  features.normalize_to(normed"),
    ("biases-of-the-first-head", "keys.h", "of.biases[head * (2", "of.biases[0 * (2"),
    ("biases-of-the-other-side", "keys.h", "+ distance + of.reach]", "- distance + of.reach]"),
    ("biases-beyond-reach", "keys.h", "if (distance > of.reach) distance = of.reach;", ""),
    ("decoders-see-themselves", "last_attention.cu", "work.sees_itself ? 1 : 0", "1"),
    ("lengths-of-a-lane", "activation.cu", "fmaxf(sqrtf(warp_sum(squares)), 1e-12F)", "fmaxf(sqrtf(squares), 1e-12F)"),
]
# How sums of [CLS] are merged moves a logit less than 16 bits may: (the .cu file that shows it, tests).
IN_FP32 = (AGREEMENT, "*LongAndShort*fp32")
OF_T5 = (AGREEMENT, "*DecoderOfOneToken*fp32")
OF_T5_IN_FP16 = (AGREEMENT, "*DecoderOfOneToken*fp16")
SHOWN_BY = {"parts-overlap": ("exact_attention.cu", IN_FP32), "parts-without-maximum": ("attention.cu", IN_FP32),
            "sets-of-one": ("attention.cu", (AGREEMENT, "*WithSets*fp16")),
            "wide-windows": ("exact_attention.cu", IN_FP32),
            "rms-less-the-mean": ("norm.cu", OF_T5), "sums-without-bias": ("norm.cu", OF_T5_IN_FP16),
            "sums-not-kept": ("norm.cu", OF_T5), "biases-of-the-first-head": ("exact_attention.cu", OF_T5),
            "biases-of-the-other-side": ("attention.cu", OF_T5_IN_FP16),
            "biases-beyond-reach": ("exact_attention.cu", OF_T5),
            "decoders-see-themselves": ("last_attention.cu", OF_T5)}
QUICK = ("untransposed-values", "last_attention.cu:__syncthreads:1", "wide-windows")


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # that is changed
    source: str  # changed
    compiled: str  # the .cu file that shows it
    test: tuple[str, str]


def places(text: str, pattern: str):
    """Finds the matches outside comments."""
    for match in re.finditer(pattern, text):
        if "//" not in text[text.rfind("\n", 0, match.start()) + 1:match.start()]:
            yield match


def all_mutants() -> list[Mutant]:
    mutants = []
    for path in sorted(KERNELS.glob("*.cu")):
        text = path.read_text()
        for what, pattern in (("__syncthreads", r"__syncthreads\(\);"), ("__syncwarp", r"__syncwarp\(\);"),
                              ("wait", r"cp_async_wait<(\d)>\(\);")):
            for number, match in enumerate(places(text, pattern), 1):
                new = f"cp_async_wait<{int(match[1]) + 1}>();" if what == "wait" else ";"
                mutants.append(Mutant(f"{path.name}:{what}:{number}", path.name,
                                      text[:match.start()] + new + text[match.end():], path.name, TESTS[path.name]))
    for name, file, old, new in WRITTEN:
        text = (KERNELS / file).read_text()
        if old not in text:
            sys.exit(f"mutant {name}: nothing in {file} is like this any more: {old!r}")
        compiled, test = SHOWN_BY.get(name) or (file, TESTS[file])
        mutants.append(Mutant(name, file, text.replace(old, new), compiled, test))
    return mutants


class Build:
    """How a build compiles and links the emulated module."""

    def __init__(self, folder: pathlib.Path, programs: set[str]):
        self.folder, self.commands = folder.resolve(), {}
        self.scratch = self.folder / "mutants"
        self.scratch.mkdir(exist_ok=True)
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            if "relucent_cuda_emulated.dir" in entry["command"]:
                words = shlex.split(entry["command"])
                self.commands[pathlib.Path(entry["file"])] = (words, words[words.index("-o") + 1])
        if not self.commands:
            sys.exit(f"{folder} does not build the emulated CUDA module")
        self.emulator = self.folder / "lib/librelucent_cuda_emulator.so"
        for needed in (self.emulator, *(self.folder / output for _, output in self.commands.values()),
                       *(self.folder / "tests" / program for program in programs)):
            if not needed.exists():
                sys.exit(f"{needed} is not built: cmake --build {folder} --target cuda_mutant_programs")

    def module(self, mutant: Mutant) -> pathlib.Path:
        """librelucent_cuda.so with the mutant in it."""
        mine = self.scratch / re.sub(r"\W", "-", mutant.name)
        copy = mine / "kernels/cuda" / mutant.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(mutant.source)
        words, output = self.commands[KERNELS / mutant.compiled]
        compiled = mine / "mutant.o"
        changed = {output: str(compiled), output + ".d": str(compiled) + ".d"}
        source = copy if mutant.file == mutant.compiled else KERNELS / mutant.compiled
        words = [changed.get(word, word) for word in words]
        words[-1] = str(source)  # after -c
        compiler = next(i for i, word in enumerate(words) if re.search(r"(c\+\+|g\+\+)[-\d.]*$", word))
        words.insert(compiler + 1, f"-I{mine}")  # a changed header comes first
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True, text=True)
        objects = [str(compiled) if other == output else other for _, other in self.commands.values()]
        module = mine / "module.so"
        subprocess.run([words[compiler], "-shared", "-o", str(module), *objects, str(self.emulator),
                        f"-Wl,-rpath,{self.emulator.parent}"], cwd=self.folder, check=True, capture_output=True)
        return module

    def run(self, module: pathlib.Path, test: tuple[str, str]) -> tuple[int, str]:
        program, names = test
        environment = {**os.environ, "RELUCENT_TEST_DEVICE": "cuda:0", "RELUCENT_CUDA_MODULE": str(module),
                       "RELUCENT_CUDA_EMULATOR": "memory=256M", "RELUCENT_REQUIRE_DEVICE": "1"}
        result = subprocess.run([str(self.folder / "tests" / program), f"--gtest_filter={names}", "--gtest_brief=1"],
                                cwd=ROOT, env=environment, timeout=LIMIT_S, text=True, errors="replace",
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.returncode, result.stdout

    def key(self, mutant: Mutant) -> str:
        """A digest of everything that the result depends on."""
        digest = hashlib.sha256(mutant.source.encode())
        program, names = mutant.test
        digest.update(names.encode())
        for file in (self.emulator, self.folder / "tests" / program,
                     *(self.folder / output for _, output in self.commands.values())):
            digest.update(file.read_bytes())
        return digest.hexdigest()


REPORT = re.compile(r"^  (race|misaligned|out of bounds|uninitialised|divergence|host memory): .*$", re.MULTILINE)


def judge(code: int, output: str) -> str:
    """What noticed it; empty if nothing did."""
    found = REPORT.search(output)
    if found:
        return f"{found[1]}: {found[0].rsplit('): ', 1)[-1][:110]}"
    if code != 0 and "[  FAILED  ]" in output:
        failed = re.search(r"\[  FAILED  \] (\S+)", output)
        return f"other results: {failed[1] if failed else ''}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a finished build with the CUDA emulator, e.g. build/release")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="names by commas")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    mutants = all_mutants()
    if options.list:
        print("\n".join(mutant.name for mutant in mutants))
        return 0
    wanted = QUICK if options.quick else tuple(filter(None, options.only.split(",")))
    unknown = set(wanted) - {mutant.name for mutant in mutants}
    if unknown:
        parser.error(f"no mutant is called {', '.join(sorted(unknown))}; --list shows all")
    if wanted:
        mutants = [mutant for mutant in mutants if mutant.name in wanted]
    build = Build(options.build, {mutant.test[0] for mutant in mutants})
    file = build.scratch / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    intact = [Mutant(f"intact {name}", name, (KERNELS / name).read_text(), name, TESTS[name])
              for name in dict.fromkeys(mutant.compiled for mutant in mutants)]
    wrong = 0
    print(f"{'mutant':40} {'s':>5}  noticed by", flush=True)
    for mutant in intact + mutants:
        is_intact, key = mutant in intact, build.key(mutant)
        known = results.get(mutant.name)
        if known is None or known["key"] != key:
            begin = time.monotonic()
            try:
                code, output = build.run(build.module(mutant), mutant.test)
            except subprocess.CalledProcessError as error:
                sys.exit(f"{mutant.name} does not compile:\n{error.stderr}")
            except subprocess.TimeoutExpired:
                sys.exit(f"{mutant.name}: its tests take longer than {LIMIT_S} s")
            noticed = judge(code, output)
            if is_intact and code == 0 and not noticed and "[  SKIPPED ]" in output:
                noticed = "its tests are skipped"
            if is_intact and code != 0 and not noticed:
                noticed = f"exit code {code}: {output.strip()[-150:]}"
            known = {"key": key, "noticed": noticed, "seconds": round(time.monotonic() - begin, 1)}
            results[mutant.name] = known
            part = file.with_suffix(".part")
            part.write_text(json.dumps(results, indent=1))
            part.replace(file)
        good = bool(known["noticed"]) != is_intact
        wrong += not good
        noticed = known["noticed"] or ("nothing" if is_intact else "NOTHING: it survived")
        print(f"{mutant.name:40} {known['seconds']:5.0f}  {noticed}", flush=True)
        if is_intact and not good:
            sys.exit("The kernels as they are do not pass, so their mutants cannot be judged.")
    print(f"{len(mutants) - wrong} of {len(mutants)} mutants were noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
