#!/usr/bin/env python3
"""Writes unicode_table.inc from a table of what Hugging Face's BERT normalizer does with each code point.

    generate_unicode_table.py codepoints_class.tsv > unicode_table.inc

Input lines: FIRST LAST MAP SPLIT, separated by tabs. MAP is "=" (kept), "-" (dropped), "space", "cjk", or the
code points it becomes, where 0020 is a space. SPLIT is "split" where "a" + c + "b" falls into several words.

Output rows {first, last, step, kind, value}: each step-th code point c from first to last has that kind.
  drop      nothing remains
  space     ends a word
  letter    is c + value, within a word
  alone     is c + value, a word of its own (punctuation, CJK)
  sequence  becomes several: value points into the list `sequences`, which holds the number of code points and them
Code points in no row are letters that stay as they are. Hangul syllables are left out: arithmetic decomposes them.
"""
import sys

SPACE = 0x20


def hangul(c):
    index = c - 0xAC00
    parts = [0x1100 + index // 588, 0x1161 + index % 588 // 28]
    if index % 28:
        parts.append(0x11A7 + index % 28)
    return parts


def read(path):
    kept_alone, actions = set(), {}
    for line in open(path, encoding="ascii"):
        first, last, mapping, split = line.rstrip("\n").split("\t")
        for c in range(int(first, 16), int(last, 16) + 1):
            actions[c] = (mapping, split == "split")
            if mapping == "cjk" or (mapping == "=" and split == "split"):
                kept_alone.add(c)
    return actions, kept_alone


def classify(c, mapping, split, alone):
    """The (kind, value) of one code point; None for a plain letter."""
    if c == SPACE or mapping == "space":
        return ("space", 0)
    if mapping == "-":
        assert not split, hex(c)
        return ("drop", 0)
    if mapping == "cjk":
        return ("alone", 0)
    if mapping == "=":
        return ("alone", 0) if split else None
    targets = [int(t, 16) for t in mapping.split()]
    if 0xAC00 <= c <= 0xD7A3:
        assert targets == hangul(c), hex(c)
        return None
    words = [t for t in targets if t != SPACE]
    assert split == (SPACE in targets or any(t in alone for t in words)), hex(c)
    if len(words) == 1 and words[0] in alone:
        return ("alone", words[0] - c)  # spaces beside a word of its own change nothing
    if len(targets) == 1:
        return ("letter", targets[0] - c) if targets[0] != SPACE else ("space", 0)
    return ("sequence", tuple(targets))


def merge(kinds):
    """Rows of equal kind and value with a step of one or two."""
    rows, done = [], set()
    for c in sorted(kinds):
        if c in done:
            continue
        best = None
        for step in (1, 2):
            last = c
            while kinds.get(last + step) == kinds[c] and last + step not in done:
                last += step
            if best is None or (last - c) // step > (best[1] - c) // best[2] + 1:
                best = (c, last, step)
        done.update(range(best[0], best[1] + 1, best[2]))
        rows.append((*best, *kinds[c]))
    return rows


def main():
    actions, alone = read(sys.argv[1])
    kinds, sequences, places = {}, [], {}
    for c, (mapping, split) in actions.items():
        kind = classify(c, mapping, split, alone)
        if kind is None:
            continue
        if kind[0] == "sequence":
            if kind[1] not in places:
                places[kind[1]] = len(sequences)
                sequences += [len(kind[1]), *kind[1]]
            kind = ("sequence", places[kind[1]])
        kinds[c] = kind
    # CJK targets such as those of compatibility ideographs must be kept code points, so that one look-up is enough.
    for c, (kind, value) in kinds.items():
        if kind in ("letter", "alone") and value:
            assert kinds.get(c + value, ("letter", 0)) == (kind, 0), hex(c)

    print("// Made by generate_unicode_table.py; do not edit.")
    print("constexpr Row kRows[] = {")
    wrap("{0x%X,0x%X,%d,%s,%d}" % (*row[:3], row[3], row[4])
         for row in merge(kinds))
    print("};\nconstexpr char32_t kSequences[] = {")
    wrap("0x%X" % value for value in sequences)
    print("};")


def wrap(items):
    line = ""
    for item in items:
        if len(line) + len(item) > 116:
            print(line)
            line = ""
        line += item + ","
    print(line)


if __name__ == "__main__":
    main()
