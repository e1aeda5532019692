#!/usr/bin/env python3
"""Writes the inputs and dictionaries with which the fuzz targets start: FOLDER/TARGET/* and FOLDER/TARGET.dict.

    python3 tests/fuzz/make_seeds.py FOLDER

Most are the goldens of other tests, shortened: the smaller an input, the more often it is changed per second.
"""
import gzip
import hashlib
import io
import json
import re
import struct
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests/goldens"
CORPORA = ROOT / "tests/index_tools/corpora"
MOST_BYTES = 4000


def text(line, *more):
    """The first line of an input, which selects a reader, and its file."""
    return "\n".join([line, *more]).encode()


# --- Models ---

def short_tokenizer(path):
    """A tokenizer.json with the first entries of its vocabulary."""
    document = json.loads(gzip.decompress(path.read_bytes()))
    model = document["model"]
    if isinstance(model["vocab"], list):
        model["vocab"] = model["vocab"][:40] + [entry for entry in model["vocab"][40:] if entry[0][:1] in "<["]
    else:
        merges = model["merges"] = model.get("merges", [])[:20]
        pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in merges]
        prefix = model.get("continuing_subword_prefix") or ""
        kept = {part for a, b in pairs for part in (a, b, a + b.removeprefix(prefix))}
        kept |= set("Dont'caf12\u0120\u00c3\u00a9\u2581")
        if not pairs:
            kept |= {prefix + letter for letter in kept} | {token["content"] for token in document["added_tokens"]}
        model["vocab"] = {entry: id for entry, id in model["vocab"].items() if id < 10 or entry in kept}
        if not merges:
            del model["merges"]
    document["added_tokens"] = document["added_tokens"][:8]
    for normalizer in [document.get("normalizer"), *((document.get("normalizer") or {}).get("normalizers") or [])]:
        if normalizer and normalizer.get("precompiled_charsmap"):
            import base64
            normalizer["precompiled_charsmap"] = base64.b64encode(charsmap()).decode()
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def charsmap():
    """A table of replacements, as SentencePiece writes it: 'A' becomes "a", "\u00e9" two characters."""
    replacements, blocks, units = b"", {b"": 0}, {}
    entries = {b"A": b"a", "\u00e9".encode(): b"e\xcc\x81"}
    for key, value in entries.items():
        start, replacements = len(replacements), replacements + value + b"\0"
        for length in range(1, len(key) + 1):
            blocks.setdefault(key[:length], len(blocks) * 256)
        units[blocks[key]] = 1 << 31 | start
    leaves = set(entries)
    units[0] = 0
    for prefix, block in blocks.items():
        if prefix:
            at = blocks[prefix[:-1]] + prefix[-1]
            units[at] = (at ^ block) << 10 | (1 << 8 if prefix in leaves else 0) | prefix[-1]
    table = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(len(blocks) * 256))
    return struct.pack("<I", len(table)) + table + replacements


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def fields_of(message):
    """(number, bytes with the tag, contents) of a protocol buffer."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        start, tag, body = at, number(), b""
        if tag & 7 == 0:
            number()
        elif tag & 7 == 2:
            size = number()
            body, at = message[at:at + size], at + size
        else:
            at += 4 if tag & 7 == 5 else 8
        yield tag >> 3, message[start:at], body


def short_model(path, pieces=40, kind=1):
    """A *.model with its first pieces and a small table of replacements. Kinds: 1 unigram, 2 BPE."""
    out, count = b"", 0
    for number, whole, body in fields_of(path.read_bytes()):
        if number == 1:
            count += 1
            if count <= pieces:
                out += whole
        elif number == 2:
            out += b"\x12\x02\x18" + bytes([kind])  # of the trainer's settings only what it made
        elif number == 3:
            kept = b"".join(part for inner, part, _ in fields_of(body) if inner != 2)
            kept += b"\x12" + varint(len(charsmap())) + charsmap()
            out += b"\x1a" + varint(len(kept)) + kept
        else:
            out += whole
    return out


def configurations():
    """config.json of the families that have no golden one, small."""
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
            "vocab_size": 100, "max_position_embeddings": 128}
    bert = {**size, "hidden_act": "gelu", "type_vocab_size": 2, "layer_norm_eps": 1e-12}
    qwen = {**size, "num_key_value_heads": 1, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1e6,
            "tie_word_embeddings": True, "use_sliding_window": False}
    yield {**size, "model_type": "deberta-v2", "architectures": ["DebertaV2ForSequenceClassification"],
           "hidden_act": "gelu", "relative_attention": True, "position_buckets": 32, "norm_rel_ebd": "layer_norm",
           "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "layer_norm_eps": 1e-7, "type_vocab_size": 0,
           "max_relative_positions": -1, "position_biased_input": False, "pooler_hidden_size": 32,
           "pooler_dropout": 0, "pooler_hidden_act": "gelu", "id2label": {"0": "LABEL_0"}}
    yield {**qwen, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "sliding_window": None}
    yield {**qwen, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 16,
           "attention_bias": False}
    yield {**bert, "model_type": "electra", "architectures": ["ElectraForSequenceClassification"],
           "embedding_size": 16, "id2label": {"0": "a", "1": "b"}}
    for kind in ("mono", "set-encoder", "set-encoder-electra", "cross-encoder"):
        yield {**bert, "model_type": kind, "backbone_model_type": "electra" if "electra" in kind else "bert",
               "pooling_strategy": "first", "query_length": 8, "doc_length": 64, "add_extra_token": True}
    for kind in ("col", "polyencoder"):
        yield {**bert, "model_type": kind, "backbone_model_type": "bert", "embedding_dim": 16, "similarity": "dot",
               "query_length": 8, "doc_length": 64, "query_expansion": True, "poly_m": 4}
    yield {**bert, "model_type": "bert", "architectures": ["BertForSequenceClassification"],
           "attention_window_size": 8, "position_embedding_type": "relative_key", "id2label": {"0": "a", "1": 2}}
    yield {**bert, "model_type": "deformer", "architectures": ["DeformerForSequenceClassification"]}
    for scaling in ({"type": "ntk", "factor": 2.0}, {"type": "linear", "factor": 0.5}):
        yield {**bert, "model_type": "new", "architectures": ["NewForSequenceClassification"], "rope_scaling": scaling,
               "position_embedding_type": "rope", "rope_theta": 20000}
        yield {**bert, "model_type": "gte", "architectures": ["GteForSequenceClassification"],
               "rope_parameters": {"rope_type": "linear", **scaling}}
    yield {**qwen, "model_type": "qwen2", "architectures": ["Qwen2ForSequenceClassification"],
           "layer_types": ["full_attention", "sliding_attention"], "rope_scaling": {"rope_type": "default"}}
    mir = json.loads((GOLDENS / "mir-pooling/two-views/config.json").read_text())
    for change in ({"mir_links": {"passage": "none", "token": "all"}, "mir_exchanges": "last"},
                   {"mir_links": {"passage": "x"}}, {"graph_weights": "prf", "graph_entities": "words"},
                   {"mir_views": ["token", "token"]}, {"passage_stride": 1000}):
        yield {**mir, **change}


LATE = [
    ({"architectures": ["HF_ColBERT"]}, {"similarity": "cosine", "interaction": "colbert", "dim": 16, "query_maxlen": 8,
                                         "doc_maxlen": 64, "query_token_id": "[unused0]", "mask_punctuation": False,
                                         "attend_to_mask_tokens": True}),
    ({"architectures": ["BertModel"]}, {"model_type": "ColBERT", "query_prefix": "[Q] ", "document_prefix": "[D] ",
                                        "query_length": 8, "document_length": 64, "do_query_expansion": True,
                                        "attend_to_expansion_tokens": False, "skiplist_words": [".", ","],
                                        "similarity_fn_name": "MaxSim", "prompts": {}, "__version__": {}}),
]


def late_interaction():
    """config.json and, after a NUL byte, the file with the settings of late interaction."""
    bert = next(c for c in configurations() if c["model_type"] == "electra")
    modern = json.loads((GOLDENS / "families/modernbert/config.json").read_text())
    for config, settings in LATE:
        for base in ({**bert, "model_type": "bert"}, modern):
            yield json.dumps({**base, **config}).encode() + b"\0" + json.dumps(settings).encode()


def models():
    for configuration in configurations():
        yield "config_json", json.dumps(configuration).encode()
    for both in late_interaction():
        yield "config_json", both
    for path in [*GOLDENS.glob("**/config.json"), *(ROOT / "model").glob("*/config.json")]:
        yield "config_json", path.read_bytes()
    for path in GOLDENS.glob("**/*.safetensors"):
        with path.open("rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            if size < 20_000:
                header = json.loads(file.read(size))
                yield "safetensors", json.dumps({name: header[name] for name in list(header)[:8]}).encode()
    small = json.dumps({"a": {"dtype": "F16", "shape": [2, 1], "data_offsets": [0, 4]},
                        "b": {"dtype": "F64", "shape": [], "data_offsets": [4, 12]}}).encode()
    yield "safetensors", small
    yield "safetensors", b'{"a": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}}'
    yield "safetensors", struct.pack("<Q", 1000) + small
    yield "safetensors", struct.pack("<Q", len(small)) + small + bytes(12)
    for path in GOLDENS.glob("tokenizers/*.json.gz"):
        if not path.name.startswith("texts"):
            yield "tokenizer_json", short_tokenizer(path) + b"\0" + "Don't caf\u00e9 12 a\u0301".encode()
    for name, kind in (("roberta", "RobertaTokenizer"), ("roberta", "BertTokenizer"), ("xlm-roberta", "T5Tokenizer"),
                       ("xlm-roberta", "XLMRobertaTokenizerFast"), ("xlm-roberta", "CamembertTokenizer")):
        settings = {"tokenizer_class": kind, "model_input_names": ["input_ids"], "add_prefix_space": True}
        yield "tokenizer_json", (short_tokenizer(GOLDENS / f"tokenizers/{name}.json.gz") + b"\0caf\xc3\xa9\0" +
                                 json.dumps(settings).encode())
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "caf", "##\u00e9", "##b", "##a", "12", "."]
    yield "vocabulary", "\n".join(words).encode() + b"\0" + "caf\u00e9 ab. 12 \u5317".encode()
    bpe = json.loads(short_tokenizer(GOLDENS / "tokenizers/roberta.json.gz"))["model"]
    merges = "#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in bpe["merges"])
    letters = {entry: id for entry, id in bpe["vocab"].items() if id < 5 or entry in merges or entry in "Dontc 12'"}
    for settings in ("", '\0{"add_prefix_space": true}\0{"unk_token": "<pad>"}', '\0\0+{"<x>": 400, "<mask>": 4}'):
        yield "vocabulary", (json.dumps(letters, ensure_ascii=False) + "\0" + merges + settings).encode()
    plain = "\n".join([*words, "[SOS]", "[X]", "\u4e2d", "##\u0301"])
    plain += "\0Caf\u00e9 [X] \u4e2d\ud55c\u0130" + "a" * 101 + " a" * 400 + "\0"
    token = {"content": "[X]", "lstrip": True, "rstrip": False, "single_word": True, "normalized": False,
             "special": False}
    for settings in ({"do_lower_case": False, "strip_accents": False, "model_max_length": 512},
                     {"tokenize_chinese_chars": False, "max_len": 1e30, "truncation_side": "right"},
                     {"tokenizer_class": "BertTokenizerFast", "added_tokens_decoder": {"14": token, "2": token}},
                     {"do_basic_tokenize": False}, {"truncation_side": "left"},
                     {"added_tokens_decoder": {"x": token}}, {"added_tokens_decoder": {"1": {"content": "x" * 1025}}},
                     {"tokenizer_class": "CrossEncoderTokenizer", "backbone_tokenizer_class": "DistilBertTokenizer"}):
        yield "vocabulary", (plain + json.dumps(settings)).encode()
    yield "vocabulary", b'{"a": 0, "b": 1, "ab": 2}\0a b\n\xff b\n'
    for tokens in ('{"cls_token": "[X]", "sep_token": {"content": "[PAD]"}}', '+{"[X]": 14, "[CLS]": 2, "new": 20}',
                   '+{"a": -1}', "+" + json.dumps({"\u00e9" * 513: 20})):
        yield "vocabulary", (plain + '{"unk_token": "[UNK]"}\0' + tokens).encode()
        yield "vocabulary", (plain + "\0" + tokens).encode()
    for path in GOLDENS.glob("tokenizers/*.model"):
        for choice in (0, 1, 2, 3, 5):
            yield "sentencepiece", bytes([choice]) + short_model(path)
        for choice in (0, 1, 2):
            yield "sentencepiece", bytes([choice]) + short_model(path, kind=2)
    yield "sentencepiece", b"\4" + charsmap()
    for path in GOLDENS.glob("pytorch/*.bin"):
        yield "pickle", path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith("data.pkl"):
                        yield "pickle", archive.read(name)
    # A tensor that is the second half of its storage.
    yield "pickle", (b"\x80\x02}X\1\0\0\0actorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
                     b"X\1\0\0\0000X\3\0\0\0cpuK\xc8tQKdK\4K\x19\x86K\x19K\1\x86\x89ccollections\nOrderedDict\n)RtRs.")


# --- Settings, records, indexes ---

def settings():
    for profile in ("[rescorer]\nwindow = \"x\"\n[[rescorer.stages]]\nmodel = \"a\"\nwindow = 50\n"
                    "[[rescorer.stages]]\nmodel = \"b\"\nwindow = 10\nattention = \"qds\"\n",
                    "[[rescorer.stages]]\nmodel = \"a\"\nunknown = 1\n", "[rescorer]\nstages = []\n",
                    "[index]\nlanguage = \"german\"\nkeyword_fields = [\"lang\"]\nnumber_fields = [\"year\"]\n"
                    "text_fields = [\"title\"]\n[first_stage]\nfields = [\"contents\", \"title^2\"]\n"
                    "count = \"exact\"\n", "[first_stage]\ncount = 10\nrm3 = true\nfields = [\"a^\", 1]\n",
                    "[[rescorer.stages]]\nmodel = \"a \\\"b\\\" c\\td\"\n",
                    "[index]\nlanguage = 1\n", "index = 1\n", "[server]\nport = 1e3\nhost = 1979-05-27\n"):
        yield "profile", profile.encode()
    for path in (ROOT / "config").glob("*.toml"):
        plain = re.sub(r"(?m)^\s*#.*\n", "", path.read_text())
        yield "profile", plain.encode()
        for section in re.split(r"(?m)^(?=\[)", plain):
            yield "profile", section.encode()
    for path in (ROOT / "config/experiments").glob("**/*.toml"):
        yield "experiment", re.sub(r"(?m)^\s*#.*\n", "", path.read_text()).encode()
    yield "experiment", b"""title = "t"
bound = 0.1
level = 0.05
measures = ["nDCG@10", "ms"]
reference = "a"
[[tasks]]
name = "x"
candidates = "c"
qrels = "q"
relevant_pieces = [1, 2]
hits = 3
shown = true
[[averages]]
name = "m"
of = ["x"]
[[rows]]
name = "a"
kind = "runs"
runs = { "x" = "f" }
[[rows]]
name = "w={window}"
windows = [1, 4]
[[published]]
measure = "nDCG@10"
columns = ["x"]
[published.values]
"a" = [0.5]
"w=1" = ["0.4*"]
"""
    yield "experiment", b"""title = "t"
[costs]
lengths = [64, 128]
candidates = 10
query_tokens = 8
runs = 2
[[models]]
name = "m"
folder = "f"
[[rows]]
windows = [1]
"""


def record_files():
    for path in GOLDENS.glob("formats/*/relucent-_*.*"):
        kind = path.suffix[1:]
        if kind not in ("embeddings", "graphs"):
            continue
        data = path.read_bytes()
        yield "records", text(kind) + b"\n" + data
        if kind == "graphs":  # header: fixed part of 16 + 8 + 4 + 4 + 8 + 8 bytes, three texts, a checksum
            at = 48
            for _ in range(3):
                size = struct.unpack_from("<I", data, at)[0]
                setting, at = data[at + 4:at + 4 + size], at + 4 + size
            at += 8
            size = struct.unpack_from("<I", data, at)[0]
            yield "records", text("graph") + b"\n" + setting + b"\0" + data[at + 4:at + 4 + size]


def index_changes():
    """Most are only searched, which takes a third of the time that verifying takes as well."""
    for kind in range(16):
        yield "index", bytes([kind])
    for own, files in ((True, 24), (False, 4)):
        for file in range(files):
            search, verify, update = (2, 4, 6) if own else (3, 5, 7)
            yield "index", bytes([search, file, 0, 20, 0, 1, 0xFF])
            yield "index", bytes([search, file, 4, 8, 0, 8, file, 2, 0, 1, 3])
            for place in range(0, 32, 4):  # the numbers of a header
                yield "index", bytes([verify, file, 0, place, 0, 1, 0xFF])
            yield "index", bytes([verify, file, 3, 11, 0, 0])
            for replace in (0, 8):
                yield "index", bytes([update + replace, file, 3, 11, 0, 0])


# --- Corpora and evaluation ---

def archive(kind, entries):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in entries.items():
                file.writestr(zipfile.ZipInfo(name), data)
    else:
        with tarfile.open(fileobj=out, mode="w:" + kind) as file:
            for name, data in entries.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def corpora():
    folder_of = {"golden_markup": CORPORA / "golden_markup", "golden_corpora": CORPORA / "golden_corpora"}
    for folder in folder_of.values():
        seen = set()
        for line in (folder / "expected.jsonl").read_text().splitlines():
            answer = json.loads(line)
            where = (answer.get("corpus"), answer.get("file"))
            if None in where or where in seen:
                continue
            seen.add(where)
            path = folder / "inputs" / where[1]
            if path.is_file():
                yield "corpus", text(where[0]) + b"\n" + path.read_bytes()[:MOST_BYTES]
    samples = {
        "tsv": "1\ta text\n2\tanother\n",
        "csv": "id,text,title\n1,\"a \"\"text\"\"\nof two lines\",t\n2,b,\n",
        "jsonl": '{"id": "1", "text": "t", "title": "x", "other": {"a": [1]}}\n{"id": "2", "contents": "u"}\n',
        "text": "some words\n",
        "html": "<html><head><title>T</title><meta charset=\"utf-8\"></head><body><p>a &amp; b<br>c<!-- d --></p>"
                "<script>x</script><table><tr><td>1</td></tr></table></body></html>",
        "pubmed": "PMID- 1\nTI  - A title\nAB  - An abstract\n      of two lines\n\nPMID- 2\nTI  - B\n",
        "trec": "<DOC>\n<DOCNO> D-1 </DOCNO>\n<TEXT>\nwords &amp; more\n</TEXT>\n</DOC>\n",
        "trecweb": "<DOC>\n<DOCNO>G-1</DOCNO>\n<DOCHDR>\nhttp://a\nContent-Type: text/html\n</DOCHDR>\n"
                   "<html><p>x</p></html>\n</DOC>\n",
        "warc": "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Length: 62\r\n\r\n"
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>abc</html>\r\n\r\n",
        "beir": '{"_id": "1", "title": "t", "text": "x", "metadata": {}}\n',
        "argsme/1.0": '{"arguments": [{"id": "1", "conclusion": "c", "premises": [{"text": "p", "stance": "PRO"}]}]}',
        "argsme/2020-04-01": '{"arguments": [{"id": "1", "conclusion": "c", "premises": [{"text": "p"}]}]}',
        "cord19": "cord_uid,title,abstract\nabc,T,\"A, b\"\n",
        "cord19/fulltext": "cord_uid,title,abstract,pdf_json_files,pmc_json_files\nabc,T,A,x.json,y.json\n",
        "nfcorpus": "MED-1\thttp://a\tTitle\tAbstract\n",
        "wapo/v2": '{"id": "1", "title": "t", "contents": [{"type": "sanitized_html", "content": "<p>x</p>"}]}\n',
        "wapo/v4": '{"id": "1", "title": "t", "contents": [{"type": "sanitized_html", "content": "<p>x</p>"}]}\n',
        "msmarco-passage-v2": '{"pid": "1", "passage": "p", "spans": "", "docid": "d"}\n',
        "msmarco-document-v2": '{"docid": "1", "url": "u", "title": "t", "headings": "h", "body": "b"}\n',
        "msmarco-document": "<DOC>\n<DOCNO>D1</DOCNO>\n<TEXT>\nhttp://a\ntitle\nbody\n</TEXT>\n</DOC>\n",
        "antique": "1_0\ta text\n",
        "cranfield": ".I 1\n.T\ntitle\n.A\nauthor\n.B\nb\n.W\nwords\n.I 2\n.W\nmore\n",
        "med": ".I 1\n.W\nwords\n.I 2\n.W\nmore\n",
        "vaswani": "1\nwords of one\n   /\n2\nwords\n   /\n",
        "medline/2004": "<MedlineCitationSet><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>T</ArticleTitle>"
                        "<Abstract><AbstractText>A</AbstractText></Abstract></Article></MedlineCitation>"
                        "</MedlineCitationSet>",
    }
    wrong = [
        ("vaswani", "<DOC>\n<DOCNO> 1 </DOCNO>\nwords\n</DOC>\nx\n<DOC>\n<DOC>\n<DOCNO>2</DOCNO>\n</DOC>\n<DOC>\na"),
        ("vaswani", "1\na\n /\nb\n/\n\n2\n"), ("msmarco-document", "x\n<DOC>\n<DOC>\n<DOCNO>D1</DOCNO>\n<TEXT>\n"),
        ("msmarco-passage", "1\tna\u00c3\u00afve \u00e2\u0082\u00ac \u00f0\u009f\u0098\u0080 \u00c2\n"),
        ("trec", '<DOC id="1">\n<TEXT><!-- c --><?p x?>&unknown; a</TEXT>\n</DOC>\n<DOC>\n<DOC>\n'
                 "<DOCNO></DOCNO></DOC>"),
        ("trec", "<DOC>\n<DOCNO>1</DOCNO><TEXT>a"), ("trecweb", "<DOC>\n<DOCNO>1</DOCNO>\n<DOC>\n</DOC>\n<DOC>"),
        ("disks45/nocr", "<DOC>\n<DOCNO>1</DOCNO>\n<!-- P=1 -->\n<TEXT>\n<P>a</P>\n</TEXT>\n</DOC>\n"),
        ("jsonl", '{"id": 1.5}\n{"id": 1, "text": null}\nx\n{"id": "2", "text": ["a"]}\n'
                  '{"id": "\\ud800", "text": ""}\n'),
        ("csv", 'id,id\n1,2\n"'), ("csv", "a,b\n1,2\n"), ("tsv", "1\n\t\n2\ta\tb\r\n"),
    ]
    for corpus, sample in wrong:
        yield "corpus", text(corpus, sample)
    page = "<html><p>A\u00e9\u20ac \u4e2d\u3042\ud55c \u0416 \U0001f600</p></html>"
    for charset in ("utf-16", "utf-16be", "utf-32le", "gb18030", "euc-jp", "shift_jis", "big5", "euc-kr", "koi8-r",
                    "iso-2022-jp", "windows-1252", "utf-7", "utf-8-sig"):
        body = page.encode(charset, "ignore")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset={charset}\r\n\r\n".encode()
        size = len(head) + len(body)
        yield "corpus", (b"warc\nWARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
                         b"WARC-TREC-ID: x-1\r\nContent-Length: %d\r\n\r\n" % size) + head + body + b"\r\n\r\n"
        yield "corpus", b"html\n<meta charset=" + charset.encode() + b">" + body
    for corpus, sample in samples.items():
        yield "corpus", text(corpus, sample)
        yield "corpus", text(corpus) + b"\n" + gzip.compress(sample.encode(), mtime=0)
    entries = {"a/1.txt": b"some words", "2.html": b"<p>x</p>", "3.txt": b""}
    for kind in ("zip", "", "gz", "bz2", "xz"):
        yield "corpus", text("html") + b"\n" + archive(kind, entries)
    word = (b'<?xml version="1.0"?><w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Hi</w:t></w:r></w:p></w:body>'
            b'</w:document>')
    yield "corpus", text("files") + b"\n" + archive("zip", {"[Content_Types].xml": b"<a/>", "word/document.xml": word})
    names = (b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
             b'xmlns:m="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body><w:p><w:r><w:t>Hi</w:t>'
             b"<w:tab/><w:br/><w:noBreakHyphen/><m:Fallback><w:t>x</w:t></m:Fallback></w:r></w:p></w:body>"
             b"</w:document>")
    for body in (names, names.decode().encode("utf-16"), b"<!DOCTYPE a>" + names, names[:200]):
        parts = {"[Content_Types].xml": b"<a/>", "word/document.xml": body, "word/footnotes.xml": names}
        yield "corpus", text("files") + b"\n" + archive("zip", parts)


def evaluation():
    yield "evaluation", text("topics", "<top>\n<num> Number: 301\n<title> a b\n<desc> Description:\nc\n<narr> d\n",
                             "</top>")
    yield "evaluation", text("topics", '<xml><topic number="1"><query>a</query><description>d</description></topic>',
                             "</xml>")
    yield "evaluation", text("topics", ".I 1\n.W\na b\n.I 2\n.W\nc\n")
    yield "evaluation", text("topics", "1\na b\n/\n2\nc\n/\n")
    yield "evaluation", text("topics", '{"qid": "1", "query": "q", "original_query": {"description": "d"}}')
    yield "evaluation", text("topics", "1\tquery\n2\tother\n")
    yield "evaluation", text("qrels", "1 0 a 2\n1 4.5 b -1\n2 0 c 0\n")
    yield "evaluation", text("qrels", "1 13 1\n1 14 -1\n")
    yield "evaluation", text("qrels", "1 13 0 0.000000\n01 0014 0 0\n")
    yield "evaluation", text("qrels", "1\n12 13\n/\n2\n5\n/\n")
    yield "evaluation", text("qrels", '{"qid": "1", "docno": "d", "relevance": 1}')
    yield "evaluation", text("qrels", "query-id\tcorpus-id\tscore\n1\ta\t2\n")
    yield "evaluation", text("run", "1 Q0 a 1 2.5 tag\n1 Q0 b 2 2.5 tag\n")
    yield "evaluation", text("run", "1\ta\t1\n1\tb\t2\n")
    yield "evaluation", text("run", '{"qid": "1", "docno": "d", "score": 1.5, "rank": 1, "tag": "t"}')
    yield "evaluation", text("rerank", '{"qid": "1", "query": "q", "docno": "d", "text": "t", "rank": 1, "score": 2}')
    yield "evaluation", text("ubuntu", "Context,Ground Truth Utterance,Distractor_0\n\"a __eou__ b\",yes,no\n")
    yield "evaluation", text("dstc7", json.dumps([{
        "example-id": 1, "messages-so-far": [{"speaker": "a", "utterance": "hi"}],
        "options-for-next": [{"candidate-id": "x", "utterance": "yes"}, {"candidate-id": "y", "utterance": "no"}],
        "options-for-correct-answers": [{"candidate-id": "x", "utterance": "yes"}]}]))
    for kind, files in WRONG.items():
        for file in files:
            yield "evaluation", text(kind, file)
    yield "evaluation", text("metadata", '{"ir_datasets_id": "a/b"}')


# Files that are refused, each in another place, and unusual ones.
WRONG = {
    "topics": [
        '<?xml version="1.0"?><!DOCTYPE topics [<!ENTITY x "y">]><!-- c --><topics><topic number="1" type=\'a\'>'
        "<query><![CDATA[a <b>]]> &amp; &#65;&#x42; &#xD800; &none;</query><question>d</question><other>x</other>"
        "<narrative/></topic></topics>",
        "<!doctype a><top>\n<num>Number\n1\n<title>a < b &lt;</title></top>", "<top><num>1<title>t", "<!-- a",
        "<top><num>1<title>t<top>", "<top><title>t</top>", "<top><num>1 2<title>t</top>", "<top><num>1</top>",
        "<top><num>1<desc>d</top><top><num>1<desc>d</top>", ".I 1\n.W\n", ".W\na", ".I 1\n.W\na\n.I 2\n",
        "1\n/\n", "1\na\n/\nb\nc\n/\n", '{"qid": 1, "query": ""}', '{"qid": 1.5, "query": "a"}', "1\t", '{"id": "a"',
        '{"id": 1e999}', "{" + '"a":[' * 300, '{"qid": "a b", "title": "c", "description": "d", "narrative": "n"}'],
    "qrels": ["1 0 a 2\n1 0\n", "1 0 a b\n", "1 0 a 1\n1 0 a 1\n", "1 0 a 3000000000\n", "a\n", "1 2\n3\n",
              "1\n2 3\n", '{"qid": "1", "docno": "d"}', '{"qid": "1", "docno": "d", "label": +1}', "", "1 a +2\n",
              "query-id\tcorpus-id\tscore\n1\ta\n"],
    "run": ["1 Q0 a 1\n", "1 Q0 a 1 x t\n", "1 a 0\n", "1 Q0 a 1 1 t\n1 Q0 a 2 1 t\n",
            "1 Q0 a 1 1e-400 t\n1 Q0 b 2 1e40 u\n",
            '{"qid": "1", "docno": "d", "score": "x"}', "1 Q0 a x nan t\n", "2 Q0 a 1 -0.0 t\n1 Q0 b 2 +1 t\n"],
    "rerank": ['{"qid": "1", "query": "q", "docno": "d"}\n{"qid": "1", "query": "q", "docno": "d"}',
               '{"qid": "1", "query": "q", "docno": "d", "score": "x"}',
               '{"qid": "1", "query": "q", "docno": "d", "rank": 0.5}',
               '{"qid": "1", "query": 5, "docno": "d"}', '{"qid": "1", "docno": "d"}', "", "\n[]\n",
               '{"qid": "1", "query": "a", "docno": "d"}\n'
               '{"qid": "1", "query": "b", "docno": "e", "text": null, "rank": 3}'],
    "ubuntu": ["Context,a\n", "Context,a,b\nc,d\n", "Context,a,b\n,d,e\n"],
    "dstc7": ["[1]", "[{}]", '[{"example-id": 1}]', '[{"example-id": 1, "messages-so-far": []}]',
              '[{"example-id": 1, "messages-so-far": [{"utterance": "a"}], "options-for-next": []}]',
              '[{"example-id": 1, "messages-so-far": [{"utterance": "a"}], "options-for-next": [], '
              '"options-for-correct-answers": [{"candidate-id": 1}]}]'],
}


# --- Searches ---

def searches():
    hits = {"total_hits": 2, "total_is_exact": True,
            "hits": [{"id": "a", "text": "t", "fields": {"x": 1}, "first_stage_score": 2.5},
                     {"id": "b", "text": "u", "fields": {}, "first_stage_score": 1}],
            "facets": {"lang": {"counts": [{"value": "de", "count": 2}], "distinct": 1},
                       "year": {"counts": [], "distinct": 0}}}
    for flags in range(8):
        yield "shard_answer", bytes([flags]) + json.dumps(hits).encode()
    yield "shard_answer", b"\0" + json.dumps(
        {"fields": {"contents": {"documents": 5, "tokens": 50, "frequencies": {"what": 2}}}}).encode()
    yield "shard_answer", b"\0" + b'{"id": "a", "text": "t", "metadata": {"x": [1]}}'
    yield "shard_answer", b"\0" + b'{"error": "no", "error_type": "Overloaded"}'

    def request(method, path, body="", headers=""):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost:8080\r\n{headers}"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return b"\x07" + (head + "\r\n" + body).encode()

    texts = '{"query":"q","texts":["a","b"],"raw_scores":true,"return_text":true,"truncate":false,"timeout_ms":70}'
    documents = '{"model":"m","query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true}'
    yield "http_request", request("POST", "/rerank", texts)
    for path in ("/v1/rerank", "/v2/rerank", "/infinity/rerank", "/reranking"):
        yield "http_request", request("POST", path, documents)
    yield "http_request", request("POST", "/search", '{"query":"q","hits":3,"offset":1,"texts":"full","filter":'
                                  '{"year":{"gte":3}},"facets":["lang"],"fields":["x"],"explain":true}')
    yield "http_request", request("POST", "/statistics", '{"query":"word"}')
    yield "http_request", request("POST", "/documents",
                                  '{"documents":[{"id":"1","text":"t","x":2},{"id":"2","text":""}]}')
    yield "http_request", request("DELETE", "/documents/a%20b")
    yield "http_request", request("DELETE", "/documents/ab")
    yield "http_request", request("DELETE", "/documents/a%2")
    for body in ('{"query":1,"texts":["a"]}', '{"query":"q","texts":{"a":1}}', '{"query":"q","texts":[1.5,null]}',
                 '{"query":"q","texts":[]}', '{"query":"q","texts":["a"],"truncation_direction":"left"}',
                 '{"query":"q","texts":["a"],"truncation_direction":2}', '{"query":"q","texts":["a"],"truncate":"x"}',
                 '{"query":"q","texts":["a"],"index":""}', '{"query":"q","texts":["a"],"timeout_ms":2.0}',
                 '{"query":"q","texts":["a"],"timeout_ms":1e30}', "[" * 300):
        yield "http_request", request("POST", "/rerank", body)
    for body in ('{"query":"q","documents":[{"a":1}],"top_n":-1.0}', '{"query":"q","documents":[]}'):
        yield "http_request", request("POST", "/v2/rerank", body)
    for body in ('{"query":"q","texts":"all"}', '{"query":"q","offset":9e9,"hits":10}',
                 '{"query":"q","texts":"snippet"}', '{"query":"q","texts":"passage"}',
                 '{"query":"q","explain":true,"hits":100}', '{"query":"q","statistics":{"fields":{}}}',
                 '{"query":"q","statistics":{"fields":{"x":{"documents":5,"tokens":50,"frequencies":{"a":2}}}}}'):
        yield "http_request", request("POST", "/search", body)
    for body in ('{"id":"1","text":"t"}', '[{"id":"1","text":"t"},{"id":"1","text":"u"}]', '{"id":"","text":"t"}',
                 json.dumps({"id": "i" * 600, "text": "t"}), '{"id":"1","text":"t","x":{"y":[1]}}'):
        yield "http_request", request("POST", "/documents", body)
    yield "http_request", request("GET", "/doc/a", headers="X-Request-Timeout-Ms: 5x\r\nOrigin: http://other\r\n")
    yield "http_request", b"\2GET /doc/a?x=1&index=%20 HTTP/1.1\r\nHost: [::1]:8080\r\nX-Request-Timeout-Ms: 5\r\n\r\n"
    yield "http_request", b"\2GET /info HTTP/1.1\r\nHost: example.org\r\n\r\n"
    yield "http_request", b"\2GET / HTTP/1.1\r\n" + b"a: b\r\n" * 250 + b"\r\n"
    yield "http_request", b"\2GET / HTTP/1.1\r\na: " + b"b" * 3000 + b"\r\n\r\n"
    for path in ("/doc/abc?index=x", "/health", "/info", "/", "/metrics", "/openapi.json", "/nowhere"):
        yield "http_request", request("GET", path)
    yield "http_request", request("GET", "/doc/a", headers="traceparent: 00-" + "1" * 32 + "-" + "2" * 16 + "-01\r\n"
                                  "tracestate: a=b\r\nOrigin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n")
    chunked = "".join(f"{len(part):x};a=b\r\n{part}\r\n" for part in (texts[:30], texts[30:])) + "0\r\nT: x\r\n\r\n"
    yield "http_request", (b"\3POST /rerank HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
                           b"Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n" + chunked.encode() +
                           b"GET /health HTTP/1.0\r\nConnection: close\r\n\r\n")

    for query in ("common words", "+common -number3 often^2.5", '"common words"~3', "number1* OR ban?na", "id:d7",
                  "common~0.5 [a TO d]", "lang:{de TO en] AND (common OR (words AND NOT often))",
                  r"c\+\+ \: na\u00EFve", "*:*", "year:[1 TO 5]"):
        for first in (b"0", b"1"):
            yield "query", first + query.encode()
    yield "query", b'1common\0{"lang": "de", "year": {"gte": 3, "lt": 40}}'
    yield "query", b'0common\0{"lang": ["de", "en"], "year": [1, 2.5]}'


WORDS = {
    "corpus": ["<DOC>", "</DOC>", "<DOCNO>", "</DOCNO>", "<DOCHDR>", "</DOCHDR>", "<TEXT>", "WARC/1.0\\x0d\\x0a",
               "WARC/0.18\\x0a", "Content-Length: ", "\\x0d\\x0a\\x0d\\x0a", "<![CDATA[", "]]>", "<!--", "-->",
               "&#x110000;", "&amp;", "charset=utf-16", "charset=euc-jp", "\\xff\\xfe", "\\xef\\xbb\\xbf",
               "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06", "\\x1f\\x8b", "BZh9", "ustar", "<script>",
               "PMID- ", ".I ", ".W"],
    "evaluation": ["<top>", "</top>", "<num>", "<title>", "<topic number=", ".I ", ".W", "\\x09", " Q0 ", "\\x0a/\\x0a",
                   "nan", "inf", "1e999", "-1", "\\xef\\xbb\\xbf", "\\x1f\\x8b", "query-id corpus-id score"],
    "http_request": ["GET ", "POST ", "HEAD ", "DELETE ", " HTTP/1.1\\x0d\\x0a", " HTTP/1.0\\x0d\\x0a", "Host: ",
                     "Content-Length: ", "Transfer-Encoding: chunked\\x0d\\x0a", "Expect: 100-continue\\x0d\\x0a",
                     "Connection: keep-alive\\x0d\\x0a", "Content-Type: application/json\\x0d\\x0a",
                     "X-Request-Timeout-Ms: ", "\\x0d\\x0a\\x0d\\x0a", "0\\x0d\\x0a\\x0d\\x0a", "%00",
                     "%2F", "\\\\ud800"],
    "query": ["AND", "OR", "NOT", "&&", "||", " TO ", "[", "]", "{", "}", "^", "~", "*", "?", "\\\\", "\\\"", "id:",
              "*:*", "lang:", "year:", "\\x00{", "\\\"gte\\\":", "\\\"lang\\\":", "\\\"lt\\\":", "1.5", "null",
              "{}", "[]", "9007199254740993"],
    "profile": ["true", "false", "inf", "nan", "0x", "'''", "\\\"\\\"\\\"", "[[", "]]", "1979-05-27", "\\\\u0000"],
    "pickle": ["ctorch._utils\\x0a_rebuild_tensor_v2\\x0a", "ctorch\\x0aFloatStorage\\x0a",
               "ccollections\\x0aOrderedDict\\x0a",
               "\\x80\\x02", "X\\x05\\x00\\x00\\x00", "\\x85q", "\\x86q", "\\x87q", "K\\x01",
               "J\\xff\\xff\\xff\\x7f", "\\x8a\\x08",
               "Q", "tR", "(", "}", "u.", "s.", "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06", "PK\\x06\\x06"],
    "records": ["\\xff\\xff\\xff\\xff", "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff"],
    "index": ["\\xff\\xff\\xff\\xff\\x0f", "\\xff\\xff\\xff\\xff\\x07", "\\x7f\\xff\\xff\\xff", "\\xff\\xff\\xff\\xff",
              "\\x00\\x00\\x00\\x00"],
    # The second is -11, a size that would lead back to the field's tag.
    "sentencepiece": ["\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01",
                      "\\xf5\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01", "\\xff\\xff\\xff\\xff\\x0f",
                      "\\xe2\\x96\\x81", "<unk>", "<s>", "</s>", "\\x18\\x02", "\\x18\\x03", "\\x18\\x06", "<0x41>"],
}
JSON_TARGETS = ("config_json", "safetensors", "tokenizer_json", "vocabulary", "shard_answer", "http_request",
                "evaluation", "corpus")


def dictionary(target, seeds):
    words = {f'"{word}"' for word in WORDS.get(target, [])}
    if target in JSON_TARGETS:
        for seed in seeds:
            names = re.findall(rb'"[A-Za-z_][\w.-]{0,30}"(?=\s*:)|: ?("[\w.-]{1,20}")', seed)
            names += re.findall(rb'"[A-Za-z_][\w.-]{0,30}"(?=\s*:)', seed)
            words |= {'"\\"' + name.decode().strip('"') + '\\""' for name in names if name}
    if target in ("profile", "experiment"):
        words |= {r'"\\\\"', r'"\\\""', r'"\\u0041"', r'"\"\\\\\""'}  # TOML's escapes
        for seed in seeds:
            words |= {f'"{name.decode()} = "' for name in re.findall(rb"(?m)^(\w+) *=", seed)}
            words |= {f'"{name.decode()}"' for name in re.findall(rb"(?m)^(\[+[\w.]+\]+)", seed)}
    return "".join(word + "\n" for word in sorted(words)[:600])


def main(folder):
    seeds = {}
    for source in (models, settings, record_files, index_changes, corpora, evaluation, searches):
        for target, seed in source():
            seeds.setdefault(target, []).append(seed)
    for target, inputs in sorted(seeds.items()):
        (folder / target).mkdir(parents=True, exist_ok=True)
        for seed in inputs:
            (folder / target / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
        words = dictionary(target, inputs)
        (folder / f"{target}.dict").write_text(words)
        print(f"{target}: {len(list((folder / target).iterdir()))} seeds, {words.count(chr(10))} words")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
