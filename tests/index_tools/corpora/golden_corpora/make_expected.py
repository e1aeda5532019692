"""Makes the inputs and answers of tests/index_tools/corpora/corpora_golden.cpp by running ir_datasets' own parsing code.

    pip install ir_datasets==0.6.3 'lxml>=5'
    python3 tests/index_tools/corpora/golden_corpora/make_expected.py [FORMATS]

Everything is written beside this file: inputs/ (written here, nobody's text) and expected.jsonl, one document a line in
the order of the input: corpus, file, id, text. With FORMATS, the folder of real pieces of the corpora, it also writes
pieces.jsonl, which holds checksums (CRC-64/XZ) of the texts and not the texts, which are not ours to give away.
"""

import contextlib
import gzip
import json
import os
import random
import sys
import tarfile
import tempfile
from pathlib import Path

TEMPORARY = tempfile.TemporaryDirectory()  # removed at the end, with all that is made in it
tempfile.tempdir = TEMPORARY.name
os.environ["IR_DATASETS_HOME"] = tempfile.mkdtemp()

import ir_datasets  # noqa: E402
from ir_datasets.datasets import (
    antique,
    argsme,
    beir,
    cord19,
    msmarco_document,
    msmarco_document_v2,
)  # noqa: E402,F401
from ir_datasets.datasets import msmarco_passage_v2, nfcorpus, wapo  # noqa: E402
from ir_datasets.formats import ArgsMeDocs, TsvDocs  # noqa: E402
from ir_datasets.util import LocalDownload  # noqa: E402

HERE = Path(__file__).parent
WORDS = "sparse cross encoder attends to naïve Dvořák's 中電 documents 🇺🇸 window".split()


class Source(LocalDownload):
    """A file as ir_datasets' download objects give it; what it caches goes to a temporary folder."""

    def __init__(self, path):
        super().__init__(path)
        self._cache = Path(tempfile.mkdtemp()) / "cache"

    def path(self, force=True):
        return str(self._path if force else self._cache)

    @contextlib.contextmanager
    def stream(self):
        opener = gzip.open if self._path.suffix == ".gz" else open
        with opener(self._path, "rb") as stream:
            yield stream


class Archive(Source):
    """A file inside a tar of .gz files or a .tar.gz, as ir_datasets expects it."""

    def __init__(self, path, name, gzip_member):
        packed = Path(tempfile.mkdtemp()) / "archive"
        member = packed.parent / "member"
        data = Path(path).read_bytes()
        if gzip_member:
            data = gzip.compress(data) if not str(path).endswith(".gz") else data
        member.write_bytes(data)
        with tarfile.open(packed, "w" if gzip_member else "w:gz") as tar:
            tar.add(member, arcname=name)
        super().__init__(packed)


def tsv(doc_cls):
    return lambda path: TsvDocs(Source(path), doc_cls=doc_cls).docs_iter()


def wapo_docs(path):
    return wapo.WapoDocs(Archive(path, "data.jl", False), "data.jl")._docs_iter()


def readable_wapo_docs(path):
    """A piece made for tests by others has records that ir_datasets fails on; each line stands alone."""
    for line in open(path, "rb"):
        file = Path(tempfile.mkdtemp()) / "line"
        file.write_bytes(line)
        try:
            yield from wapo_docs(file)
        except TypeError as error:
            print(f"ir_datasets fails on a record of {path}: {error}", file=sys.stderr)


def argsme_docs(path):
    return ArgsMeDocs(Source(path)).docs_iter()


def cord19_docs(path):
    return cord19.Cord19Docs(Source(path), "unused", "unused")._docs_iter()


def cord19_fulltext_docs(path):
    """The release is one folder DATE with metadata.csv and document_parses.tar.gz."""
    folder = Path(tempfile.mkdtemp())
    release = folder / "date"
    release.mkdir()
    (release / "metadata.csv").write_bytes(Path(path).read_bytes())
    with tarfile.open(release / "document_parses.tar.gz", "w:gz") as tar:
        tar.add(Path(path).parent / "document_parses", arcname="document_parses")
    return cord19.Cord19Docs(Source(path), folder, "date", include_fulltext=True)._docs_iter()


def beir_docs(path):
    for line in open(path, encoding="utf8"):
        data = json.loads(line)
        yield beir.BeirTitleDoc(*(beir._map_field(field, data) for field in beir.BeirTitleDoc._fields))


READ = {
    "msmarco-document": lambda path: msmarco_document.MsMarcoTrecDocs(Source(path)).docs_iter(),
    "msmarco-passage-v2": lambda path: msmarco_passage_v2.MsMarcoV2Passages(Archive(path, "a.gz", True)).docs_iter(),
    "msmarco-document-v2": lambda path: msmarco_document_v2.MsMarcoV2Docs(Archive(path, "a.gz", True)).docs_iter(),
    "antique": tsv(ir_datasets.formats.GenericDoc),
    "nfcorpus": tsv(nfcorpus.NfCorpusDoc),
    "wapo/v2": readable_wapo_docs,
    "argsme/2020-04-01": argsme_docs,
    "cord19": cord19_docs,
    "cord19/fulltext": cord19_fulltext_docs,
    "beir": beir_docs,
}


def documents(corpus, path):
    for doc in READ[corpus](path):
        yield doc.doc_id, doc.default_text()


# ---- inputs ----


def some_words(rng, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, most)))


def trec_input(rng):
    out = ""
    for i in range(40):
        body = "".join(some_words(rng, 8) + "\n" for _ in range(rng.randint(0, 6)))
        if i % 7 == 0:
            body += "<b>not markup</b>\n</p>\n<DOCUMENT>\n<TITLEX>\n"
        if i % 11 == 0:
            body += "before\n</TITLE>\nlost, as ir_datasets loses it\n<TITLE>\nagain in the text\n"
        if i % 5 == 0:
            body += "\n\x0b vertical\x0ctabs \x85 and \u2028 separators\r\nand a carriage return\n\n"
        lead = "\n" * (i % 3)
        head = f"{lead}https://example.org/{i}\n{some_words(rng, 5)}\n"
        out += f"<DOC>\n<DOCNO> D{i} </DOCNO>\n<TEXT>\n{head}{body}</TEXT>\n</DOC>\n"
    return out


def antique_input(rng):
    lines = [f"{i}_{i % 4}\t{some_words(rng, 12)}{' cafÃ©' * (i % 2)}  " for i in range(40)]
    return "\n".join(lines[:20]) + "\n\n\n" + "\r\n".join(lines[20:]) + "\n"


def nfcorpus_input(rng):
    return "".join(
        f"MED-{i}\thttp://example.org/{i}\t{some_words(rng, 5)}\tAbstract {some_words(rng, 9)} \n" for i in range(40)
    )


def passage_input(rng):
    return "".join(
        json.dumps(
            {
                "pid": f"msmarco_passage_00_{i}",
                "passage": some_words(rng, 9) + '"\\\n\t' * (i % 2),
                "spans": "(0,1),(2,3)",
                "docid": "msmarco_doc_00_0",
            },
            ensure_ascii=i % 3 == 0,
        )
        + "\n"
        for i in range(40)
    )


def document_input(rng):
    return "".join(
        json.dumps(
            {
                "url": f"http://example.org/{i}",
                "title": some_words(rng, 4),
                "headings": "\n".join(some_words(rng, 3) for _ in range(rng.randint(0, 3))),
                "body": "\n".join(some_words(rng, 9) for _ in range(rng.randint(0, 4))),
                "docid": f"msmarco_doc_00_{i}",
            },
            ensure_ascii=i % 3 == 0,
        )
        + "\n"
        for i in range(40)
    )


def beir_input(rng):
    return "".join(
        json.dumps(
            {
                "_id": f"d{i}",
                "title": "" if i % 4 == 0 else some_words(rng, 4),
                "text": some_words(rng, 9),
                "metadata": {"url": "x"},
            }
        )
        + "\n"
        for i in range(40)
    )


# Markup on which libxml2 since 2.12, which lxml has since 5.0, and Debian's 2.9.14 disagree in ways that our reader
# does not make good is left out: '<' in attributes, XML declarations, document types.
PIECES = [
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    '<a href="http://example.org/?a=1&b=2">',
    "</a>",
    "<br>",
    "<br/>",
    "&amp;",
    "&nbsp;",
    "&lt;",
    "&#8217;",
    "&#x2019;",
    "&eacute;",
    " & ",
    " < ",
    " > ",
    "<!-- comment -->",
    "<?pi data?>",
    "<![CDATA[cdata <b>]]>",
    " ",
    "\n",
    "\r\n",
    "\t",
    "“quoted”",
    "<i class=x>",
    "</i>",
    '<a href="u" target=_blank>',
    "<span class='a' class='b'>",
    "</span>",
    "text",
    "more text",
    "naïve",
    "🇺🇸",
    "&",
    "<",
    '"',
    "<o:p>",
    "</o:p>",
    '<img src="x" alt="&quot;">',
    "\u00a0",
    "&bogus",
    "&#0;",
    "<xml:x>",
    "<1>",
    "</>",
    "</b x>",
    "<b a>",
    "\u2028",
]
SNIPPETS = [
    "",
    " ",
    "plain text",
    "plain &amp; entity",
    "plain <b>bold</b>",
    "<b>bold</b> then plain",
    "<p>one</p><p>two</p>",
    "<p>a &nbsp; b &amp; c</p>",
    '<span class="dateline">NEW ORLEANS —</span> Never a dull moment',
    "<p>line<br>break</p>",
    "<p>line<br/>break</p>",
    "  <p>leading space</p>",
    "\n<p>leading newline</p>",
    "<p> <b> </b>\n<i>\n </i></p>",
    "<p>unclosed <b>tags",
    "<p>a<!-- c -->b<?pi x?>c</p>",
    "<p><![CDATA[<b>cdata</b>]]></p>",
    "<p>" + "long text " * 120 + "</p>",
    "<p>" + "é" * 510 + "<b>x</b>" + "中" * 300 + "</p>",
    "\ufeff<p>mark</p>",
    "<p>a</p> tail",
    "<p>bad </b> close</p>",
    "<P>case</p>after</P>",
    "<p a=b c>attributes</p>",
    '<a href="u" target=_blank>The 10 worst things</a>',
    "<p>a <i class=x>b</i> c</p>",
    "<p>end",
    "<br>x",
    "<p>a <b>b</b x> c</p>",
    "<p> <!-- comment -->\n <?pi data?> <b>x</b></p>",
    "<p>control \x0b\x01 characters</p>",
    "<script>if (a < b) { x(); }</script>",
    "<style>p {}</style>",
    "<ns:p xmlns:ns='u'>namespace</ns:p>",
    "<ns:p>no namespace</ns:p>",
    "<p>&lt;b&gt;</p>",
    "<p>\r\nline\rends\r\n</p>",
]


def snippet(rng, i):
    if i < len(SNIPPETS):
        return SNIPPETS[i]
    inner = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 14)))
    return inner if i % 4 == 0 else f"<p>{inner}</p>" if i % 4 < 3 else f"<p>{inner * 10}</p>"


def wapo_input(rng):
    out = ""
    for i in range(300):
        html = {"type": "sanitized_html", "subtype": "paragraph", "mime": "text/html", "content": snippet(rng, i)}
        contents = [html]
        if i % 10 == 0:
            contents = [
                {"type": "kicker", "mime": "text/plain", "content": "Colleges"},
                None,
                {"type": "title", "mime": "text/plain", "content": "not in the text"},
                {"type": "byline", "mime": "text/plain", "content": "By somebody"},
                {"type": "date", "mime": "text/plain", "content": 1325376562000},
                {"type": "image", "imageURL": "http://example.org/i.jpg", "fullcaption": "A caption & more"},
                {"type": "image", "imageURL": "http://example.org/j.jpg", "fullcaption": None},
                {"type": "image", "imageURL": "http://example.org/k.jpg"},
                html,
                {"type": "video", "contenturl": "http://example.org/v", "blurb": "A video"},
                {"type": "gallery", "contenturl": "http://example.org/g", "blurb": ""},
                {"type": "tweet", "content": {"text": "A tweet", "id_str": "1", "user": {"screen_name": "name"}}},
                {"type": "sanitized_html", "mime": "text/plain", "content": "plain <b>kept</b> as it is"},
                {"type": "sanitized_html", "mime": "text/html", "content": None},
                {"type": "sanitized_html", "mime": "text/html"},
                {"type": "sanitized_html", "content": "without mime\n\n"},
                {"type": "kicker", "mime": "text/plain", "content": None},
                {"content": "no type"},
            ]
        if i % 10 == 5:
            contents = []
        out += (
            json.dumps(
                {
                    "id": f"id-{i}",
                    "article_url": "u",
                    "title": None if i % 9 == 0 else some_words(rng, 4),
                    "author": "a",
                    "published_date": None,
                    "contents": contents,
                    "type": "article",
                },
                ensure_ascii=i % 2 == 0,
            )
            + "\n"
        )
    return out


def argsme_input(rng):
    arguments = []
    for i in range(40):
        premises = [
            {
                "text": some_words(rng, 9) + ' "{[' * (i % 3),
                "stance": "PRO" if i % 2 else "CON",
                "annotations": [{"start": 1, "end": 2, "source": "x"}],
            }
            for _ in range(rng.randint(0, 3))
        ]
        context = {
            "sourceId": "S",
            "sourceTitle": "t ] } \\",
            "discussionTitle": "d",
            "acquisitionTime": "2019-04-18T13:32:05Z",
            "aspects": [{"name": "n", "weight": 1, "normalizedWeight": 1.0, "rank": 1}],
        }
        arguments.append(
            {"id": f"S{i}-A{i}", "conclusion": some_words(rng, 6), "premises": premises, "context": context}
        )
    return json.dumps(
        {"version": {"arguments": [1, "]"]}, "arguments": arguments, "after": ["x", {}]}, ensure_ascii=False
    )


COLUMNS = (
    "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,"
    "pdf_json_files,pmc_json_files,url"
).split(",")


def csv_field(rng, text):
    if any(c in text for c in ',"\r\n') or text[:1] in ("\x0b", "\u2028") or rng.random() < 0.2:
        return '"' + text.replace('"', '""') + '"'
    return text


def cord19_inputs(rng, folder):
    rows = []
    for i in range(120):
        bits = [",", '"', "\n", "word", "naïve", " ", "''", "中", "\t", "é", ";", "\r\n"]
        abstract = "".join(rng.choice(bits) for _ in range(rng.randint(0, 12)))
        title = "".join(rng.choice(bits[:-1]) for _ in range(rng.randint(0, 5)))
        row = dict.fromkeys(COLUMNS, "")
        row.update(
            cord_uid=f"uid{i // 2 if i % 20 == 1 else i:05d}",
            title=title,
            abstract=abstract,
            doi="10.1/x",
            publish_time="2020-01-01",
            authors="Doe, J; Roe, R",
        )
        if i % 4 == 1:
            row["pdf_json_files"] = f"document_parses/pdf_json/{i % 8}.json; document_parses/pdf_json/none.json"
        if i % 8 == 1:
            row["pmc_json_files"] = f"document_parses/pmc_json/{i % 8}.xml.json"
        rows.append(row)
    text = ",".join(COLUMNS) + "\n"
    for i, row in enumerate(rows):
        text += ",".join(csv_field(rng, row[column]) for column in COLUMNS) + ("\r\n" if i % 5 == 0 else "\n")
        if i % 30 == 0:
            text += "\n"
    # What no writer makes and Python's reader takes: a quote within a field, and text after a closing quote.
    text += 'odd1,,,a "quoted" word,,,,,"abstract" and more,,,,,\n'
    text += 'odd2,,, "not quoted",,,,,"a""b""",,,,,'
    (folder / "document_parses/pdf_json").mkdir(parents=True, exist_ok=True)
    (folder / "document_parses/pmc_json").mkdir(parents=True, exist_ok=True)
    (folder / "metadata.csv").write_bytes(text.encode())
    for i in range(8):
        parse = {
            "paper_id": str(i),
            "abstract": [],
            "back_matter": [],
            "body_text": [
                {"text": some_words(rng, 9), "section": some_words(rng, 2), "cite_spans": []} for _ in range(i)
            ],
        }
        if i == 5:
            del parse["body_text"]
        (folder / f"document_parses/pdf_json/{i}.json").write_text(json.dumps(parse, indent=1))
        parse["body_text"] = [{"text": "PMC", "section": "Methods ::: " + some_words(rng, 2)}]
        (folder / f"document_parses/pmc_json/{i}.xml.json").write_text(json.dumps(parse))


INPUTS = {
    "msmarco-document": ("msmarco-docs.trec", trec_input),
    "msmarco-passage-v2": ("msmarco_passage_00", passage_input),
    "msmarco-document-v2": ("msmarco_doc_00", document_input),
    "antique": ("antique-collection.txt", antique_input),
    "nfcorpus": ("doc_dump.txt", nfcorpus_input),
    "wapo/v2": ("TREC_Washington_Post_collection.v2.jl", wapo_input),
    "argsme/2020-04-01": ("debateorg.json", argsme_input),
    "beir": ("corpus.jsonl", beir_input),
}


def write_inputs(folder):
    for corpus, (name, make) in INPUTS.items():
        (folder / name).write_bytes(make(random.Random(corpus)).encode())
        yield corpus, folder / name
    cord19_inputs(random.Random("cord19"), folder / "cord19")
    yield "cord19", folder / "cord19/metadata.csv"
    yield "cord19/fulltext", folder / "cord19/metadata.csv"


# ---- real pieces ----

PIECES_OF_CORPORA = [
    ("msmarco-document-v2", "anserini/msmarco_v2_doc/docs.json"),
    ("msmarco-document-v2", "anserini/msmarco_v2_doc_gz/docs.json.gz"),
    ("msmarco-passage-v2", "anserini/msmarco_v2_passage/docs.json"),
    ("msmarco-passage-v2", "anserini/msmarco_v2_passage_gz/docs.json.gz"),
    ("antique", "rebuilt-from-irds/antique-collection.sample.txt"),
    ("nfcorpus", "nfcorpus-raw/doc_dump.sample.txt"),
    ("wapo/v2", "anserini/washingtonpost/collection1/articles.jl"),
    ("wapo/v2", "anserini/washingtonpost/collection2/articles.jl"),
    ("cord19", "anserini/cord19/sample1/metadata.csv"),
    ("cord19/fulltext", "anserini/cord19/sample1/metadata.csv"),
    ("beir", "anserini/beir-nfcorpus/corpus.jsonl"),
]


def crc64_table():
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0xC96C5795D7870F42 if i & 1 else 0)
        yield i


CRC64 = list(crc64_table())


def crc64(data):
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc = CRC64[(crc ^ byte) & 0xFF] ^ crc >> 8
    return f"{crc ^ 0xFFFFFFFFFFFFFFFF:016x}"


def main():
    inputs = HERE / "inputs"
    (inputs / "cord19").mkdir(parents=True, exist_ok=True)
    with open(HERE / "expected.jsonl", "w", encoding="utf8") as out:
        for corpus, path in write_inputs(inputs):
            for doc_id, text in documents(corpus, path):
                line = {"corpus": corpus, "file": str(path.relative_to(inputs)), "id": doc_id, "text": text}
                out.write(json.dumps(line, ensure_ascii=True) + "\n")
    if len(sys.argv) > 1:
        with open(HERE / "pieces.jsonl", "w", encoding="utf8") as out:
            for corpus, piece in PIECES_OF_CORPORA:
                path = Path(sys.argv[1]) / piece
                common = {"corpus": corpus, "piece": piece, "piece_crc64": crc64(path.read_bytes())}
                for doc_id, text in documents(corpus, path):
                    out.write(json.dumps({**common, "id": doc_id, "crc64": crc64(text.encode())}) + "\n")


if __name__ == "__main__":
    main()
