#!/usr/bin/env python3
"""Writes the token ids again, or with --check compares them: python3 tests/goldens/tokenizer/make.py [--check]

Needs tokenizers 0.23.3 (pip install tokenizers==0.23.3). The texts of wordpiece_generated.jsonl.gz stay as they are.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import FOLDER, finish, read_json_lines, write_json_lines, write_lines
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

VOCABULARY = FOLDER.parent.parent / "model/relucent-minilm-l6-w4/vocab.txt"  # bert-base-uncased's
here = FOLDER / "tokenizer"

tokenizer = Tokenizer(models.WordPiece.from_file(str(VOCABULARY), unk_token="[UNK]", max_input_chars_per_word=100))
tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None,
                                                  lowercase=True)
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()


def ids(texts):
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


rows = read_json_lines(here / "wordpiece_generated.jsonl.gz")
for row, answer in zip(rows, ids([row["text"] for row in rows])):
    row["ids"] = answer
write_json_lines(here / "wordpiece_generated.jsonl.gz", rows, ensure_ascii=False, separators=(",", ":"))

ranges = []  # first, last, ids
code_points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
for c, answer in zip(code_points, ids([f"a{chr(c)}b" for c in code_points])):
    if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == answer:
        ranges[-1][1] = c
    else:
        ranges.append([c, c, answer])
write_lines(here / "codepoints.tsv", (f"{a:04X}\t{b:04X}\t{' '.join(map(str, answer))}" for a, b, answer in ranges))
finish()
