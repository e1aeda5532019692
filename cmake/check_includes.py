#!/usr/bin/env python3
"""Checks which room includes which: every '#include "..."' must name a header of a room that the table below allows.
Kernels also name no model family: what a family needs is a feature of the encoder description. And every CUDA kernel
begins with wait_for_previous(), without which it may run before its input is there.

    python3 cmake/check_includes.py [ROOT]

One include convention holds everywhere: "relucent/..." for public headers, "room/part/file.h" for the others. Lucene++
is kept out of rooms by the compiler itself: their targets lack its include path. Prints what is wrong and exits with 1.
"""
import re
import sys
from pathlib import Path

# Room (the longest matching prefix of a path wins): the rooms whose headers it may include, besides its own. "room/..."
# stands for a room with all rooms inside it.
ALLOWED = {
    "base": [],
    "config": ["base"],
    "kernels": ["base", "kernels/cpu", "kernels/ref"],  # backend.cpp makes the two
    "kernels/ref": ["base", "kernels"],
    "kernels/cpu": ["base", "kernels"],
    "kernels/cuda": ["base", "kernels"],
    "model/include": ["base", "kernels"],
    "model/formats": ["base", "kernels", "model/include"],
    "model/tokenizer": ["base", "model/include", "model/formats"],
    "model/graphs": ["base", "kernels", "model/include", "model/tokenizer"],
    "model/families": ["base", "kernels", "model/include", "model/formats", "model/graphs"],
    "model/input": ["base", "kernels", "model/include", "model/tokenizer", "model/families"],
    "model/checkpoint": ["base", "kernels", "model/include", "model/formats", "model/tokenizer", "model/families",
                         "model/input"],
    "model/mir": ["base", "kernels", "model/include", "model/formats", "model/tokenizer", "model/graphs",
                  "model/families", "model/input", "model/checkpoint"],
    "model": ["base", "kernels", "model/include", "model/formats", "model/tokenizer", "model/graphs", "model/families",
              "model/input", "model/checkpoint", "model/mir"],
    "plugin/index_format": ["base", "model/include", "model/graphs"],
    "plugin/second_stage": ["base", "config", "kernels", "model/...", "plugin/index_format"],
    "plugin/lucene": ["base", "config"],  # text, errors and the log, which its parts share
    "plugin/lucene/analysis": ["base", "config", "model/graphs", "plugin/index_format", "plugin/lucene"],
    "plugin/lucene/index": ["base", "config", "model/...", "plugin/index_format", "plugin/second_stage",
                            "plugin/lucene", "plugin/lucene/analysis"],
    "plugin/lucene/queries": ["base", "config", "plugin/lucene", "plugin/lucene/analysis"],
    "plugin/lucene/bm25": ["base", "config", "plugin/index_format", "plugin/lucene", "plugin/lucene/analysis",
                           "plugin/lucene/index", "plugin/lucene/queries"],
    "plugin/lucene/graphs": ["base", "config", "model/...", "plugin/index_format", "plugin/second_stage",
                             "plugin/lucene", "plugin/lucene/analysis", "plugin/lucene/index", "plugin/lucene/bm25"],
    "plugin/lucene/search": ["base", "config", "kernels", "model/...", "plugin/..."],
    "server": ["base", "config", "model/...", "plugin/..."],
    "index_tools/corpora": ["base"],
    "index_tools/evaluation": ["base", "config", "plugin/...", "index_tools/corpora"],
    "index_tools/experiments": ["base", "config", "kernels", "model/...", "plugin/...", "index_tools/evaluation"],
    "index_tools/indexing": ["base", "config", "model/...", "plugin/...", "index_tools/corpora"],
    "index_tools/benchmarks": ["base", "config", "kernels", "model/...", "plugin/...", "index_tools/evaluation",
                               "index_tools/experiments", "index_tools/indexing"],
    "index_tools/hub": ["base", "model/checkpoint"],
    "index_tools/pytorch": ["base", "model/checkpoint", "model/formats"],
    "index_tools/program": ["base", "config", "kernels", "model/...", "plugin/...", "index_tools/...", "server"],
    "tests": ["base", "config", "kernels/...", "model/...", "plugin/...", "index_tools/...", "server"],
    "docs": ["base", "config", "kernels", "model/...", "plugin/..."],
    "python": ["base", "config", "kernels", "model/...", "plugin/..."],
}
# Public headers lie in one folder per top-level room; those of plugin/ belong to its parts.
PUBLIC = {
    "plugin/index_format": ["analysis", "collection_statistics", "segment_identity", "token_ids"],
    "plugin/second_stage": ["candidate_inputs", "combine", "rescore_candidates", "rescore_report", "score_cache",
                            "scorer", "stop_scope"],
    "plugin/lucene": ["stored_text"],
    "plugin/lucene/analysis": ["english_analyzer"],
    "plugin/lucene/index": ["index_builder", "index_files", "index_reader"],
    "plugin/lucene/queries": ["rescore_query", "rescoring_query_parser", "text_query"],
    "plugin/lucene/bm25": ["bm25"],
    "plugin/lucene/search": ["field_filter", "open_searcher", "rescored_top_docs", "rescorer", "rescoring_searcher",
                             "search_session", "searcher_manager"],
}
PUBLIC_ROOMS = {f"plugin/include/relucent/{name}.h": room for room, names in PUBLIC.items() for name in names}
# Stand-ins that are found through a target's include path on purpose: the CUDA toolkit's headers and their emulation.
STAND_INS = {"cuda_runtime.h", "cublasLt.h", "instructions.h", "cuda.h"}


def family_pattern():
    """Finds the names of the model families, as model/families declares them ("kMixEncoderFamily": "mix_encoder" and
    the like), in a line of kernels/. BERT, DeBERTa and T5 are allowed: their papers define what kernels compute."""
    headers = (Path(__file__).parent.parent / "model/families").glob("*.h")
    classes = {name for header in headers for name in re.findall(r"\bk([A-Z]\w+)Family\b", header.read_text())}
    names = ["[-_ ]?".join(re.findall("[A-Z][a-z0-9]+", name)) for name in sorted(classes - {"Bert", "Deberta", "T5"})]
    return re.compile("|".join([r"\b%s\b" % name if len(name) < 4 else name for name in names] +
                               ["xlm", "longformer", r"\bqds\b"]), re.IGNORECASE)


FAMILY = family_pattern()
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
KERNEL = re.compile(r"^(?:template .*\n)?__global__ void[^{;]*\{\n(?P<first>.*)", re.MULTILINE)


def room_of(path):
    if path in PUBLIC_ROOMS:
        return PUBLIC_ROOMS[path]
    rooms = [room for room in ALLOWED if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def may_include(room, other):
    return any(other == room or other == allowed or allowed.endswith("/...") and (other + "/").startswith(allowed[:-3])
               for allowed in [room, *ALLOWED[room]])


def header_of(name, root):
    """The header's path in the tree, or None."""
    if name.startswith("relucent/"):
        tops = sorted({room.split("/")[0] for room in ALLOWED})
        return next((f"{room}/include/{name}" for room in tops if (root / room / "include" / name).exists()), None)
    return name if (root / name).exists() else None


def problems(root):
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        room = room_of(path)
        if file.suffix not in {".h", ".cpp", ".cu", ".cuh", ".inl"}:
            continue
        if room is None:
            if path.startswith("plugin/"):
                yield f"{path}: cmake/check_includes.py does not know which part of plugin/ it belongs to"
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            family = FAMILY.search(line) if path.startswith("kernels/") else None
            if family:
                yield f"{path}:{number}: kernels may not name a model family ({family[0]})"
            match = INCLUDE.match(line)
            if not match or match[1] in STAND_INS:
                continue
            place, name = f"{path}:{number}", match[1]
            header = header_of(name, root)
            if header is None:
                yield f'{place}: "{name}" is not a path from the root of the sources'
            elif room_of(header) is None:
                yield f"{header}: cmake/check_includes.py does not know which part of its room it belongs to"
            elif not may_include(room, room_of(header)):
                yield f'{place}: {room} may not include "{name}" of {room_of(header)}'


def hasty_kernels(root):
    for file in sorted((root / "kernels").rglob("*.cu")):
        text = file.read_text(errors="replace")
        for match in KERNEL.finditer(text):
            if match["first"].strip() != "wait_for_previous();":
                number = text.count("\n", 0, match.start("first")) + 1
                yield f"{file.relative_to(root)}:{number}: a kernel must begin with wait_for_previous()"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    found = [*problems(root), *hasty_kernels(root)]
    print("\n".join(found) if found else "includes: every room includes only what it may")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
