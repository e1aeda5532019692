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
        model["vocab"] = model["vocab"][:40]
    else:
        model["vocab"] = {entry: id for entry, id in model["vocab"].items() if id < 300}
        if "merges" in model:
            pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"]]
            known = model["vocab"]
            model["merges"] = [pair for pair in pairs if all(p in known for p in [*pair, "".join(pair)])][:20]
    for normalizer in [document.get("normalizer"), *((document.get("normalizer") or {}).get("normalizers") or [])]:
        if normalizer and normalizer.get("precompiled_charsmap"):
            import base64
            normalizer["precompiled_charsmap"] = base64.b64encode(charsmap()).decode()
    return json.dumps(document, ensure_ascii=False).encode()


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


def short_model(path, pieces=40):
    """A *.model with its first pieces and a small table of replacements."""
    out, count = b"", 0
    for number, whole, body in fields_of(path.read_bytes()):
        if number == 1:
            count += 1
            if count <= pieces:
                out += whole
        elif number == 2:
            out += b"\x12\x02\x18\x01"  # of the trainer's settings only that it made a unigram model
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


def models():
    for configuration in configurations():
        yield "config_json", json.dumps(configuration).encode()
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
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "caf", "##\u00e9", "##b", "##a", "12", "."]
    yield "vocabulary", "\n".join(words).encode() + b"\0" + "caf\u00e9 ab. 12 \u5317".encode()
    bpe = json.loads(short_tokenizer(GOLDENS / "tokenizers/roberta.json.gz"))["model"]
    merges = "#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in bpe["merges"])
    yield "vocabulary", json.dumps(bpe["vocab"], ensure_ascii=False).encode() + b"\0" + merges.encode()
    for path in GOLDENS.glob("tokenizers/*.model"):
        for choice in range(4):
            yield "sentencepiece", bytes([choice]) + short_model(path)
    yield "sentencepiece", b"\4" + charsmap()
    for path in GOLDENS.glob("pytorch/*.bin"):
        yield "pickle", path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith("data.pkl"):
                        yield "pickle", archive.read(name)


# --- Settings, records, indexes ---

def settings():
    for profile in ("[rescorer]\nwindow = \"x\"\n[[rescorer.stages]]\nmodel = \"a\"\nwindow = 50\n"
                    "[[rescorer.stages]]\nmodel = \"b\"\nwindow = 10\nattention = \"qds\"\n",
                    "[[rescorer.stages]]\nmodel = \"a\"\nunknown = 1\n", "[rescorer]\nstages = []\n",
                    "[index]\nlanguage = \"german\"\nkeyword_fields = [\"lang\"]\nnumber_fields = [\"year\"]\n"
                    "text_fields = [\"title\"]\n[first_stage]\nfields = [\"contents\", \"title^2\"]\n"
                    "count = \"exact\"\n", "[first_stage]\ncount = 10\nrm3 = true\nfields = [\"a^\", 1]\n",
                    "[index]\nlanguage = 1\n", "index = 1\n", "[server]\nport = 1e3\nhost = 1979-05-27\n"):
        yield "profile", profile.encode()
    for path in (ROOT / "config").glob("*.toml"):
        plain = re.sub(r"(?m)^\s*#.*\n", "", path.read_text())
        yield "profile", plain.encode()
        for section in re.split(r"(?m)^(?=\[)", plain):
            yield "profile", section.encode()
    for path in (ROOT / "config/experiments").glob("**/*.toml"):
        yield "experiment", re.sub(r"(?m)^\s*#.*\n", "", path.read_text()).encode()


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
    for kind in (0, 1):
        yield "index", bytes([kind])
        for file in range(0, 24):
            yield "index", bytes([kind, file, 0, 20, 0, 1, 0xFF])
            yield "index", bytes([kind, file, 4, 8, 0, 8, file, 2, 0, 1, 3])


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
    for corpus, sample in samples.items():
        yield "corpus", text(corpus, sample)
        yield "corpus", text(corpus) + b"\n" + gzip.compress(sample.encode(), mtime=0)
    entries = {"a/1.txt": b"some words", "2.html": b"<p>x</p>", "3.txt": b""}
    for kind in ("zip", "", "gz", "bz2", "xz"):
        yield "corpus", text("html") + b"\n" + archive(kind, entries)
    word = (b'<?xml version="1.0"?><w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Hi</w:t></w:r></w:p></w:body>'
            b'</w:document>')
    yield "corpus", text("files") + b"\n" + archive("zip", {"[Content_Types].xml": b"<a/>", "word/document.xml": word})


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
              "*:*", "lang:", "year:", "\\x00{", "\\\"gte\\\":", "\\\"lang\\\":"],
    "profile": ["true", "false", "inf", "nan", "0x", "'''", "\\\"\\\"\\\"", "[[", "]]", "1979-05-27", "\\\\u0000"],
    "pickle": ["ctorch._utils\\x0a_rebuild_tensor_v2\\x0a", "ctorch\\x0aFloatStorage\\x0a",
               "ccollections\\x0aOrderedDict\\x0a",
               "\\x80\\x02", "X\\x05\\x00\\x00\\x00", "\\x85q", "\\x86q", "\\x87q", "K\\x01",
               "J\\xff\\xff\\xff\\x7f", "\\x8a\\x08",
               "Q", "tR", "(", "}", "u.", "s.", "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06", "PK\\x06\\x06"],
    "index": ["\\xff\\xff\\xff\\xff\\x0f", "\\xff\\xff\\xff\\xff\\x07", "\\x7f\\xff\\xff\\xff", "\\xff\\xff\\xff\\xff",
              "\\x00\\x00\\x00\\x00"],
    "sentencepiece": ["\\xe2\\x96\\x81", "<unk>", "<s>", "</s>", "\\x18\\x02", "\\x18\\x03", "\\x18\\x06", "<0x41>"],
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
