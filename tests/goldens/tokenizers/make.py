#!/usr/bin/env python3
"""Writes the digests of the token ids again, or with --check compares them:

    pip install tokenizers==0.23.3 sentencepiece==0.1.97
    python3 tests/goldens/tokenizers/make.py [--check | --train | --show NAME ROW]

--train rebuilds everything: it trains the small tokenizers and chooses the texts. --show prints a row's text and its
expected ids.
"""
import base64
import gzip
import io
import json
import random
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import sentencepiece
from goldens import CHECK, FOLDER, differ, finish, read_json_lines, write_json_lines
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

here = FOLDER / "tokenizers"
ROWS = here / "texts.jsonl.gz"
CASES = here / "cases.json"


# ---- texts ----

def cranfield():
    return [row["text"] for row in read_json_lines(FOLDER / "bm25/cranfield.docs.jsonl.gz") if row["text"]]


def generated():
    """Rows of the WordPiece goldens: texts made of every script, controls, emoji ..."""
    return [row["text"] for row in read_json_lines(FOLDER / "tokenizer/wordpiece_generated.jsonl.gz")]


SPECIAL = ["[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]", "<s>", "</s>", "<unk>", "<mask>", "<pad>", "<extra_id_0>",
           "<extra_id_7>", "<|endoftext|>", "<0x41>", "<0xE2>"]
ADDED = ["|||EMAIL|||", "new york", "NewYork", "ÀÉ", "tok", "<left>", "<right>", "<both>", "fl\u00f6w", "   ", "  "]
MARKS = [" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2003", "\u200b", "\u200d", "\u2581", "_", "'", "'s", "'ll",
         "'re", "'T", "\u2019s", ".", "...", "!?", "\"", "-", "\u2014", "#", "##", "\u0120", "\x00", "\x01", "\x7f", "\x85", "\u2028",
         "\ufeff", "\ufffd", "1", "23", "\u0663", "\u2160", "\u00bd", "\u0301", "e\u0301", "\ufb01", "\ufb01\u0301", "\u2122", "\u1e9e", "\u0130", "\u03a3", "\u00df",
         "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u5317\u4eac", "\u304b\u3099", "\ud55c\uad6d", "\u1112\u1161\u11ab",
         "\u0928\u093f", "\u0915\u094d\u0937", "\u0e01\u0e33", "\u3297\u0301"]


def code_point(r):
    block = r.choice([0x80, 0x250, 0x800, 0x3000, 0x10000, 0x20000, 0x110000])
    while True:
        c = r.randrange(block)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def fuzz(r, words):
    parts = []
    for _ in range(r.randrange(1, 14)):
        kind = r.randrange(10)
        if kind < 4:
            word = r.choice(words)
            parts.append(r.choice([word, word, word.capitalize(), word.upper()]))
            parts.append(r.choice(["", " ", " ", " "]))
        elif kind < 6:
            parts.append(r.choice(MARKS))
        elif kind == 6:
            parts.append(r.choice(SPECIAL))
        elif kind == 7:
            parts.append(r.choice(ADDED))
        else:
            parts.append("".join(code_point(r) for _ in range(r.randrange(1, 4))))
    return "".join(parts)


def damaged(r, words):
    """Bytes that are not UTF-8."""
    data = bytearray(fuzz(r, words).encode("utf-8"))
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(data) + 1)
        action = r.randrange(3)
        if action == 0:
            data[at:at] = bytes(r.choice([[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x96], [0xF0, 0x9F, 0x98],
                                          [0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3]]))
        elif action == 1:
            del data[at:at + 1]
        elif data:
            data[min(at, len(data) - 1)] = r.randrange(256)
    return bytes(data)


def long_text(r, words, documents):
    """Longer than what the tokenizers read at once, with something odd here and there."""
    text = " ".join(r.choice(documents) for _ in range(r.randrange(5, 14)))
    pieces = text.split(" ")
    for _ in range(len(pieces) // r.choice([3, 10, 40])):
        pieces[r.randrange(len(pieces))] = fuzz(r, words)
    return " ".join(pieces)


def choose_texts():
    r = random.Random(1)
    documents = cranfield()
    words = sorted({word for text in documents for word in text.split()})
    rows = [{"text": text} for text in generated()[::3]]
    rows += [{"text": fuzz(r, words)} for _ in range(4000)]
    rows += [{"bytes": base64.b64encode(damaged(r, words)).decode()} for _ in range(1500)]
    rows += [{"text": r.choice(documents)[:r.randrange(3000)]} for _ in range(150)]
    rows += [{"text": long_text(r, words, documents)} for _ in range(30)]
    rows += [{"text": text} for text in ["", " ", "  ", "\n", "a", "\u2581", "\u2581a", "a" * 300, "ab" * 3000, "\u5317" * 2500,
                                         "x " * 3000, "'" * 500, "\u0301" * 200, "\ufffd", "</s>", "[SEP]" * 20]]
    write_json_lines(ROWS, rows, ensure_ascii=False, separators=(",", ":"))


def text_of(row):
    return row["text"] if "text" in row else base64.b64decode(row["bytes"]).decode("utf-8", "replace")


# ---- tokenizers ----

def charsmap():
    """SentencePiece's rules nmt_nfkc, which its trainer writes into every model."""
    return charsmap_in(train_sentencepiece("unigram", 400, cranfield()[:300]))


def charsmap_in(model):
    at = model.index(b"nmt_nfkc") + len(b"nmt_nfkc")
    assert model[at] == 0x12
    size = shift = 0
    while True:
        at += 1
        size |= (model[at] & 0x7F) << shift
        shift += 7
        if model[at] < 0x80:
            break
    return model[at + 1:at + 1 + size]


def training_texts():
    return cranfield()[:700] + generated()[1::7]


def latin_texts():
    """With few other characters: these trainers keep them all."""
    return cranfield()[:700] + generated()[1::400]


def train_sentencepiece(kind, size, texts, **options):
    texts = [" ".join(text.split()) for text in texts]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text for text in texts if text and "\0" not in text), model_writer=model,
        model_type=kind, vocab_size=size, character_coverage=0.98, num_threads=1, minloglevel=2, hard_vocab_limit=False,
        max_sentence_length=100000, **options)
    return model.getvalue()


def added(*tokens):
    """Added tokens that are not special, in several ways."""
    ways = [{}, {"normalized": False}, {"lstrip": True}, {"rstrip": True}, {"single_word": True},
            {"lstrip": True, "rstrip": True, "normalized": False}]
    return [AddedToken(token, special=False, **ways[i % len(ways)]) for i, token in enumerate(tokens)]


def byte_tokens():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def train():
    """Yields (name, JSON of the tokenizer, model_type)."""
    texts = training_texts()
    rules = normalizers.Precompiled(charsmap())
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    roberta = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()

    def wordpiece(name, normalizer, pre_tokenizer, model_type="bert", tokens=(), size=1500):
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
        tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=bert,
                                                                       limit_alphabet=400, show_progress=False))
        tokenizer.add_tokens(list(tokens))
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")])
        return name, json.loads(tokenizer.to_str()), model_type

    def bpe(name, normalizer, pre_tokenizer, specials, model_type, tokens=(), post_processor=None, initial=alphabet,
            trainer={}, size=2000, edit=lambda document: None, **options):
        tokenizer = Tokenizer(models.BPE(**options))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=size, special_tokens=specials, initial_alphabet=initial, show_progress=False, **trainer))
        tokenizer.add_tokens(list(tokens))
        if post_processor:
            tokenizer.post_processor = post_processor(tokenizer)
        document = json.loads(tokenizer.to_str())
        edit(document)
        return name, document, model_type

    def unigram(name, normalizer, pre_tokenizer, specials, model_type, tokens=(), post_processor=None, size=2000,
                byte_fallback=False, unknown="<unk>"):
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
        tokenizer.train_from_iterator([text for text in latin_texts() if "\0" not in text], trainers.UnigramTrainer(
            vocab_size=size, special_tokens=specials, unk_token=unknown, show_progress=False))
        document = json.loads(tokenizer.to_str())
        if byte_fallback:
            document["model"]["vocab"] += [[token, -9.5] for token in byte_tokens()]
            document["model"]["byte_fallback"] = True
        tokenizer = Tokenizer.from_str(json.dumps(document))
        tokenizer.add_tokens(list(tokens))
        if post_processor:
            tokenizer.post_processor = post_processor(tokenizer)
        return name, json.loads(tokenizer.to_str()), model_type

    def ends(cls, sep, double):
        def make(tokenizer):
            pair = f"{cls} $A {sep} {sep} $B {sep}" if double else f"{cls} $A {sep} $B {sep}"
            return processors.TemplateProcessing(single=f"{cls} $A {sep}", pair=pair, special_tokens=[
                (token, tokenizer.token_to_id(token)) for token in (cls, sep)])
        return make

    uncased = normalizers.BertNormalizer()
    yield wordpiece("bert-uncased", uncased, pre_tokenizers.BertPreTokenizer())
    yield wordpiece("bert-uncased-added", uncased, pre_tokenizers.BertPreTokenizer(), tokens=added(*ADDED))
    yield wordpiece("bert-cased", normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer())
    yield wordpiece("bert-lower-accents", normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=False), pre_tokenizers.BertPreTokenizer())
    yield wordpiece("wordpiece-nfd", normalizers.Sequence([
        normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]), pre_tokenizers.Sequence([
            pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)]))
    yield wordpiece("wordpiece-strip", normalizers.Sequence([
        normalizers.NFKC(), normalizers.Strip(left=True, right=True)]), pre_tokenizers.Sequence([
            pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.Digits(individual_digits=False)]))

    yield bpe("roberta", None, pre_tokenizers.ByteLevel(add_prefix_space=False), roberta, "roberta",
              post_processor=lambda t: processors.RobertaProcessing(("</s>", t.token_to_id("</s>")),
                                                                    ("<s>", t.token_to_id("<s>"))))
    yield bpe("roberta-prefix", None, pre_tokenizers.ByteLevel(add_prefix_space=True), roberta, "roberta",
              tokens=added(*ADDED))
    yield bpe("modernbert", normalizers.NFC(), pre_tokenizers.ByteLevel(add_prefix_space=False), bert, "modernbert",
              tokens=[AddedToken(" " * n, normalized=True, special=False) for n in range(24, 1, -1)] +
              [AddedToken("|||EMAIL|||", normalized=True, special=False)], post_processor=ends("[CLS]", "[SEP]", False))
    llama = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
             r"\s+(?!\S)|\s+")
    yield bpe("split-regex", None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(llama), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), roberta, "roberta", ignore_merges=True)
    qwen = llama.replace("{1,3}", "")
    yield bpe("qwen", normalizers.NFC(), pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(qwen), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "qwen3",
        tokens=[AddedToken(token, normalized=False, special=False) for token in ("<think>", "</think>", *ADDED)])
    gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    yield bpe("split-gpt2", normalizers.NFKD(), pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Split(Regex(gpt2), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), roberta, "roberta")

    def with_bytes(document):
        vocabulary = document["model"]["vocab"]
        for token in byte_tokens():
            vocabulary.setdefault(token, len(vocabulary))

    yield bpe("byte-fallback", normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
              ["<unk>", "<s>", "</s>"], "roberta", initial=[], trainer={"limit_alphabet": 300}, edit=with_bytes,
              unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    yield bpe("word-ends", normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit(), roberta, "roberta", initial=[],
              trainer={"limit_alphabet": 300, "end_of_word_suffix": "</w>"}, unk_token="<unk>", fuse_unk=False,
              end_of_word_suffix="</w>")
    yield bpe("word-continuations", None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(" ", "merged_with_previous"), pre_tokenizers.Punctuation("merged_with_next")]), roberta,
        "roberta", initial=[], trainer={"limit_alphabet": 300, "continuing_subword_prefix": "##"}, unk_token="<unk>",
        fuse_unk=True, continuing_subword_prefix="##")

    yield unigram("xlm-roberta", rules, pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]), roberta, "xlm-roberta",
        post_processor=ends("<s>", "</s>", True))
    yield unigram("bge-m3", normalizers.Sequence([rules, normalizers.Replace(Regex(" {2,}"), " ")]),
                  pre_tokenizers.Metaspace(prepend_scheme="always"), roberta, "xlm-roberta",
                  post_processor=ends("<s>", "</s>", True))
    yield unigram("deberta", normalizers.Sequence([
        normalizers.Strip(left=True, right=True), rules, normalizers.Replace(Regex(" {2,}"), " ")]),
        pre_tokenizers.Metaspace(prepend_scheme="always"), ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], "deberta-v2",
        post_processor=ends("[CLS]", "[SEP]", False), unknown="[UNK]")
    yield unigram("t5", normalizers.Sequence([
        rules, normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "\u2581")]),
        pre_tokenizers.Metaspace(prepend_scheme="always"), ["<pad>", "</s>", "<unk>"], "t5",
        tokens=[AddedToken(f"<extra_id_{i}>", special=True, normalized=False) for i in range(10)],
        post_processor=lambda t: processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", t.token_to_id("</s>"))]))
    yield unigram("metaspace-first", normalizers.Lowercase(), pre_tokenizers.Metaspace(prepend_scheme="first"),
                  ["<unk>", "<s>", "</s>"], "roberta", tokens=added(*ADDED), byte_fallback=True)
    yield unigram("unigram-whole", normalizers.Replace("  ", " "), pre_tokenizers.Metaspace(
        prepend_scheme="never", split=False), ["<unk>", "<s>", "</s>"], "roberta", byte_fallback=True)


def add(names):
    """Trains tokenizers that are new."""
    cases = json.loads(CASES.read_text())
    for name, document, model_type in train():
        if name not in names:
            continue
        (here / f"{name}.json.gz").write_bytes(
            gzip.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0))
        cases.append({"name": name, "file": f"{name}.json.gz", "model_type": model_type})
    CASES.write_text(json.dumps(cases))


def build():
    cases = []
    for name, document, model_type in train():
        (here / f"{name}.json.gz").write_bytes(
            gzip.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0))
        cases.append({"name": name, "file": f"{name}.json.gz", "model_type": model_type})
    for name, kind, model_type, options in [
            ("sentencepiece-unigram", "unigram", "xlm-roberta", {}),
            ("sentencepiece-t5", "unigram", "t5", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1,
                                                   "user_defined_symbols": ["<extra_id_0>", "tok"]}),
            ("sentencepiece-bpe", "bpe", "xlm-roberta", {"byte_fallback": True, "normalization_rule_name": "nfkc_cf"})]:
        (here / f"{name}.model").write_bytes(train_sentencepiece(kind, 2000, latin_texts(), **options))
        cases.append({"name": name, "file": f"{name}.model", "model_type": model_type})
    CASES.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


# ---- answers ----

def with_special_tokens_as_text(document):
    """The tokenizer in which a special token's name in a text is text.

    The library's encode_special_tokens does this except for Unigram, which also finds the names in its vocabulary.
    """
    model = document["model"]
    if model["type"] == "Unigram":
        special = {token["content"] for token in document["added_tokens"] if token["special"]}
        document["added_tokens"] = [token for token in document["added_tokens"] if not token["special"]]
        model["vocab"] = [[f"\U0010FFFD\U0010FFFD{i}" if piece in special else piece, score]
                          for i, (piece, score) in enumerate(model["vocab"])]
        document["post_processor"] = None
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.encode_special_tokens = True
    return tokenizer


def pair_template(document):
    """The ids before, between and after two texts without ids."""
    tokenizer = Tokenizer.from_str(json.dumps(document))
    if tokenizer.post_processor is None:
        return None
    encoding = tokenizer.encode("", "")
    a, b = tokenizer.encode("a", "b"), [tokenizer.encode(text, add_special_tokens=False).ids for text in "ab"]
    for split in range(len(encoding.ids) + 1):
        for end in range(split, len(encoding.ids) + 1):
            parts = [encoding.ids[:split], encoding.ids[split:end], encoding.ids[end:]]
            if parts[0] + b[0] + parts[1] + b[1] + parts[2] == a.ids:
                return parts
    raise AssertionError(document["post_processor"])


def converted(data, processor, model_type):
    """A Unigram model as transformers' XLMRobertaTokenizer and T5Tokenizer convert it; see ../settings for their
    answers."""
    pieces = [[processor.id_to_piece(i), processor.get_score(i)] for i in range(processor.get_piece_size())]
    fairseq = model_type == "xlm-roberta"
    if fairseq:
        pieces = [[token, 0.0] for token in ("<s>", "<pad>", "</s>", "<unk>")] + pieces[3:] + [["<mask>", 0.0]]
    special = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}
    ids = {piece: i for i, (piece, _) in enumerate(pieces)}
    tokens = [{"id": i, "content": piece, "special": piece != "tok", "single_word": False, "lstrip": False,
               "rstrip": False, "normalized": False}
              for piece, i in ids.items() if piece in special or piece == "tok" or piece.startswith("<extra_id_")]
    before, end = (["<s>"], ["</s>"]) if fairseq else ([], ["</s>"])
    parts = [*before, "A", *end, *(end if fairseq else []), "B", *end]
    template = [{"Sequence": {"id": part, "type_id": 0}} if part in "AB" else {"SpecialToken": {"id": part, "type_id": 0}}
                for part in parts]
    return {"added_tokens": tokens, "model": {"type": "Unigram", "unk_id": 3 if fairseq else 2, "vocab": pieces},
            "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap_in(data)).decode()},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {
                "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}]},
            "post_processor": {"type": "TemplateProcessing", "single": template[:len(before) + 1 + len(end)],
                               "pair": template, "special_tokens": {
                                   token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in before + end}}}


def ids_of(case, texts):
    data = (here / case["file"]).read_bytes()
    if case["file"].endswith(".json.gz"):
        document = json.loads(gzip.decompress(data))
        case["template"] = pair_template(json.loads(gzip.decompress(data)))
        tokenizer = with_special_tokens_as_text(document)
        return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    if "bpe" not in case["name"]:
        document = converted(data, processor, case["model_type"])
        case["template"] = pair_template(document)
        tokenizer = with_special_tokens_as_text(document)
        return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    answers = [processor.encode(text) for text in texts]
    if case["model_type"] == "xlm-roberta":  # fairseq's ids
        answers = [[3 if i == processor.unk_id() else i + 1 for i in ids] for ids in answers]
        case["template"] = [[0], [2, 2], [2]]
    else:
        case["template"] = [[], [processor.eos_id()], [processor.eos_id()]]
    return answers


def digest(ids):
    return zlib.crc32(struct.pack(f"<{len(ids)}i", *ids))


def main():
    if "--train" in sys.argv:
        choose_texts()
        build()
    if "--add" in sys.argv:
        add(sys.argv[sys.argv.index("--add") + 1:])
    rows = read_json_lines(ROWS)
    texts = [text_of(row) for row in rows]
    cases = json.loads(CASES.read_text())
    if "--show" in sys.argv:
        name, row = sys.argv[2], int(sys.argv[3])
        (case,) = [case for case in cases if case["name"] == name]
        print(repr(texts[row - 1]), ids_of(case, [texts[row - 1]])[0])
        return
    for case in cases:
        digests = [digest(ids) for ids in ids_of(case, texts)]
        path = here / f"{case['name']}.crc"
        data = struct.pack(f"<{len(digests)}I", *digests)
        if not CHECK:
            path.write_bytes(data)
            continue
        stored = struct.unpack(f"<{len(path.read_bytes()) // 4}I", path.read_bytes())
        for row, (old, new) in enumerate(zip(stored, digests, strict=True), 1):
            if old != new:
                differ(path, row, old, new)
    stored = json.dumps(cases)
    if CHECK and json.dumps(json.loads(CASES.read_text())) != stored:
        differ(CASES, 0, CASES.read_text(), stored)
    if not CHECK:
        CASES.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    finish()


main()
