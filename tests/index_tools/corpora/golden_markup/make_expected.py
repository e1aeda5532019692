"""Makes the inputs and answers of tests/index_tools/corpora/markup_golden.cpp by running ir_datasets' own parsing code.

    apt-get install python3-lxml
    /usr/bin/python3 -m venv --system-site-packages VENV
    VENV/bin/pip install ir_datasets==0.6.3 warc3-wet warc3-wet-clueweb09
    VENV/bin/python tests/index_tools/corpora/golden_markup/make_expected.py [FORMATS]

Debian 12's lxml reads HTML with Debian's libxml2 2.9.14, as we do. Other versions of libxml2 give other texts for some broken
pages (docs/formats.md says how many). Everything is written beside this file: inputs/ (written here, nobody's text) and
expected.jsonl, one document a line in the order of the input: corpus, file, id, text. With FORMATS, the folder of real pieces
of the corpora, it also writes pieces.jsonl and, of the records of ir_datasets' own tests, samples.jsonl. They hold checksums
(CRC-64/XZ) of the texts and not the texts, which are not ours to give away.
"""

import contextlib
import gzip
import io
import json
import os
import random
import re
import sys
import tarfile
import tempfile
import xml.etree.ElementTree
from pathlib import Path

TEMPORARY = tempfile.TemporaryDirectory()  # removed at the end, with all that is made in it
tempfile.tempdir = TEMPORARY.name
os.environ["IR_DATASETS_HOME"] = tempfile.mkdtemp()

import lxml.etree  # noqa: E402
from ir_datasets.datasets import gov, gov2, medline  # noqa: E402
from ir_datasets.formats import TrecDocs  # noqa: E402
from ir_datasets.formats.webarc import WarcDoc, WarcDocs  # noqa: E402
from ir_datasets.util.html_parsing import sax_html_parser  # noqa: E402

HERE = Path(__file__).parent
assert lxml.etree.LIBXML_VERSION == (2, 9, 14), "needs Debian 12's python3-lxml"


# ---- ir_datasets' answers -------------------------------------------------------------------------------------------------


def opened(path):
    return gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb")


class Stream:
    """What ir_datasets calls a download, of bytes at hand."""

    def __init__(self, data):
        self._data = data

    @contextlib.contextmanager
    def stream(self):
        yield io.BytesIO(self._data)


def texts(documents):
    for doc in documents:
        yield doc.doc_id, doc.default_text()


def disks45_docs(path):
    return texts(TrecDocs(None, parser="sax")._parser(opened(path)))


def trec_docs(path):
    """ir_datasets has no corpus of that kind; its parser with all text outside DOCNO as one field."""
    for record in re.split(rb"(?<=\n</DOC>)", opened(path).read()):
        if b"\n</DOC>" not in record:
            continue
        doc_id, text = sax_html_parser(record.decode("utf8", "replace"), fields=[{"docno"}, None])
        attribute = re.search(rb'<DOC id="([^"]*)"', record)
        yield doc_id or attribute.group(1).decode(), text


def warc_docs(old):
    return lambda path: texts(WarcDocs(warc_cw09=old)._docs_ctxt_iter_warc(opened(path)))


def clueweb09_sample(path):
    """The published sample lacks the status lines that its Content-Lengths count, and so ir_datasets reads every other record
    only. Here records end where the next one starts."""
    data = opened(path).read()
    for record in re.split(rb"(?m)^(?=WARC/0\.18\n)", data)[1:]:
        head, payload = record.split(b"\n\n", 1)
        if b"WARC-Type: response" in head:
            headers, body = re.split(rb"\r?\n\r?\n", payload, maxsplit=1)
            doc_id = re.search(rb"WARC-TREC-ID: (\S+)", head).group(1).decode()
            yield doc_id, WarcDoc(doc_id, "", "", headers, body, "").default_text()


def clueweb12_record_by_record(path):
    """ir_datasets ends at the first record with another length than it claims, after giving its text. Here it is asked about
    each record by itself."""
    for record in re.split(rb"(?m)^(?=WARC/1\.0\r\n)", opened(path).read())[1:]:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            yield from texts(WarcDocs()._docs_ctxt_iter_warc(io.BytesIO(record)))


def pubmed_docs(path):
    """ir_datasets has no corpus of that kind: Python's own parser, and all text in title and abstract."""
    for citation in xml.etree.ElementTree.parse(path).iter("MedlineCitation"):
        title, abstract = citation.find(".//ArticleTitle"), citation.find(".//Abstract")
        parts = [] if abstract is None else abstract.findall("AbstractText")
        whole = ["" if title is None else "".join(title.itertext())] + ["".join(part.itertext()) for part in parts]
        yield citation.find(".//PMID").text, " ".join(whole if parts else whole + [""])


def medline_xml(data):
    docs = medline.MedlineDocs("2004", [Stream(data)])
    return texts(
        type(docs).docs_iter.__wrapped__(docs) if hasattr(type(docs).docs_iter, "__wrapped__") else docs.docs_iter()
    )


def medline_docs(path):
    data = opened(path).read()
    # A set that is closed already must not be closed once more; DTD and sets of other names make no difference.
    start = data.index(b"<Medline" if b"<PubmedArticleSet" not in data else b"<PubmedArticleSet")
    inner = re.sub(rb"</?(MedlineCitationSet|PubmedArticleSet)[^>]*>", b"", data[start:])
    return medline_xml(b'<?xml version="1.0" encoding="UTF-8"?>\n<MedlineCitationSet>\n' + inner)


def abstracts(path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(path, arcname="extra/" + Path(path).name)
    docs = medline.AacrAscoDocs(Stream(packed.getvalue()))
    return texts(docs.docs_iter())


READ = {
    "disks45/nocr": disks45_docs,
    "trec": trec_docs,
    "gov": lambda path: texts(gov.GovDocs(None)._docs_ctxt_iter_gov(opened(path))),
    "gov2": lambda path: texts(gov2.Gov2Docs(None, None)._docs_ctxt_iter_gov2(opened(path))),
    "clueweb09": warc_docs(True),
    "clueweb12": warc_docs(False),
    "medline/2004": medline_docs,
    "medline/2017": medline_docs,
}


# ---- inputs ---------------------------------------------------------------------------------------------------------------

WORDS = "sparse cross encoder attends to documents window naïve".split()
MARKUP = [
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<br>",
    "<br/>",
    "<td>",
    "</table>",
    "<table>",
    "<tr>",
    "<div class='x y'>",
    "</div>",
    "<ul><li>",
    "<li>",
    "</ul>",
    '<a href="?a=1&amp;b=2">',
    "</a>",
    "<img src=x alt='1 > 0'>",
    "<script>if (a < b) x('</p>');</script>",
    "<style>p { color: red }</style>",
    "<noscript>no script</noscript>",
    "<!-- a comment -->",
    "<!-- unclosed <b>",
    "-->",
    "&amp;",
    "&lt;",
    "&nbsp;",
    "&eacute;",
    "&#8217;",
    "&#x2019;",
    "&bogus;",
    "&amp",
    "&",
    "<",
    " < 5",
    ">",
    "\t",
    "\r\n",
    "\n\n\n",
    "   ",
    "<textarea>a &lt;b&gt;</textarea>",
    "<title>late title</title>",
    "<input type=text>",
    "<select><option>one<option>two</select>",
    "<frame>",
    "<?php echo 1 ?>",
    "<![CDATA[data]]>",
    "<h1>",
    "</h1>",
    "<center>",
    "<font size=2>",
    "</font>",
    "<object>",
    "<o:p>",
    "</o:p>",
    "</body>",
    "<body bgcolor=white>",
    "</html>",
    "<meta name=x content=y>",
    "<link rel=x>",
    "<form action=x>",
    "</form>",
    "&#0;",
    "&#x80;",
    "&#150;",
    "\u00a0",
    "<P ALIGN=LEFT>",
]
CHARSETS = [
    None,
    "utf-8",
    "UTF-8",
    "iso-8859-1",
    "ISO-8859-15",
    "windows-1252",
    "windows-1251",
    "koi8-r",
    "Shift_JIS",
    "EUC-JP",
    "gb2312",
    "GBK",
    "gb18030",
    "big5",
    "euc-kr",
    "us-ascii",
    "utf-16",
    "x-sjis",
    "none",
    "windows-874",
    "ISO-8859-2",
    "macintosh",
    "ks_c_5601-1987",
]
SCRIPTS = [
    "naïve café",
    "Привет, мир",
    "中文搜索引擎",
    "日本語のテキスト、カタカナ",
    "한국어 문서",
    "ประเทศไทย",
    "Łódź – „cudzysłów”",
    "繁體中文",
]


def some_text(rng, most):
    parts = []
    for _ in range(rng.randint(0, most)):
        parts.append(rng.choice(MARKUP) if rng.random() < 0.4 else rng.choice(WORDS) + " ")
    return "".join(parts)


def page(rng, i):
    """An HTML page in bytes, and HTTP headers for it."""
    charset = CHARSETS[i % len(CHARSETS)]
    said = rng.choice(["meta", "header", "both"])
    script = SCRIPTS[i % len(SCRIPTS)]
    head = "" if rng.random() < 0.2 else f"<title>{script} {some_text(rng, 2)}</title>"
    if charset and said != "header":
        head = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">' + head
    body = script + some_text(rng, 30) + script
    html = rng.choice(
        [
            f"<html><head>{head}</head><body>{body}</body></html>",
            f"{head}{body}",
            f"<!DOCTYPE html>\n<HTML>\n{head}\n<BODY>{body}",
            f"{body}",
            f"<html>{head}<frameset><noframes><body>{body}</body></noframes></frameset></html>",
        ]
    )
    try:
        data = html.encode(charset if charset not in (None, "utf-16", "us-ascii") else "utf-8", "replace")
    except LookupError:
        data = html.encode("shift_jis", "replace")
    if rng.random() < 0.3:  # damage
        data = bytearray(data)
        for _ in range(3):
            data.insert(rng.randrange(len(data) + 1), rng.choice([0x80, 0xFF, 0xA4, 0x8F, 0xE3, 0x1B, 0x00]))
        data = bytes(data)
    headers = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/html"
        + (f"; charset={charset}" if charset and said != "meta" else "")
        + "\r\nServer: x\r\n"
    )
    return data, headers.encode()


def sgml_input(rng):
    out = b""
    for i in range(60):
        content = some_text(rng, 20)
        forms = [
            f"<HEADLINE>\n{some_text(rng, 4)}\n</HEADLINE>\n<DATELINE>TOKYO</DATELINE>\n<TEXT>\n<P>\n{content}\n</P>\n</TEXT>\n",
            f'<HT>   "cr00000" </HT>\n<HEADER>\n<H2>   skipped </H2>\n<DATE1>  1 March 1994 </DATE1>\n<H3> <TI> {some_text(rng, 3)} </TI></H3>\n'
            f"</HEADER>\n<TEXT>\nLanguage: <F P=105> English </F>\n{content}\n</TEXT>\n",
            f"<PROFILE>_AN</PROFILE>\n<DATE>940101\n</DATE>\n<HEADLINE>\nFT  {some_text(rng, 3)}\n</HEADLINE>\n<BYLINE>x</BYLINE>\n<TEXT>\n{content}\n</TEXT>\n<PUB>y\n</PUB>\n",
            f'<DOCID> 1 </DOCID>\n<DATE>\n<P>\nDecember 31\n</P>\n</DATE>\n<TEXT>\n<!-- PJG 0001 -->\n<H4>{some_text(rng, 2)}</H4>\n{content}\n<TABLE CWL="x">\n<ROWRULE>\n'
            f"<CELLRULE>\n</TABLE>\n</TEXT>\n",
            f"<HEAD>head</HEAD>\n<HL>\n{some_text(rng, 3)}\n</HL>\n<LP>{content}</LP>\n<TEXT>\n</TEXT>\n<TTL>t</TTL><DD>d</DD><LEADPARA>l</LEADPARA>\n",
            "<PARENT> FR940101-0-00001 </PARENT>\n<TEXT>\n \n<USDEPT>DEPARTMENT</USDEPT> &hyph;&blank;&sect;\n"
            + content
            + "\n</TEXT>\n",
        ]
        number = "\n" * (i % 3 == 2) + f" DOC{i}-1 " + "\n" * (i % 3 == 2)
        record = f"<DOC>\n<DOCNO>{number}</DOCNO>\n{forms[i % len(forms)]}</DOC>\n".encode()
        if i % 10 == 0:
            record = record.replace(b"naive", b"na\xefve").replace("ï".encode(), b"\xef")
        out += record + b"\n" * (i % 4)
    return out


def trecweb_input(rng):
    out = b""
    for i in range(120):
        data, headers = page(rng, i)
        out += (
            f"<DOC>\n<DOCNO>G{i:02}-{i}</DOCNO>\n<DOCHDR>\nhttp://example.gov/{i}\n".encode()
            + headers
            + b"</DOCHDR>\n"
            + data
            + b"\n" * (i % 2)
            + b"</DOC>\n"
        )
    return out


def warc_input(rng, end, version):
    out = b""
    for i in range(120):
        data, headers = page(rng, i)
        if end == b"\n":
            headers = headers.replace(b"\r\n", b"\n")
        payload = headers + end + data
        kind = b"response"
        if i % 20 == 0:
            kind, payload = b"warcinfo", b"software: x" + end
        fields = [b"WARC-Type: " + kind, b"WARC-Target-URI: http://example.org/" + str(i).encode()]
        if i % 7 == 3 and version == b"0.18":
            fields += [b"", b"broken over lines"]  # as in ClueWeb09
        fields += [
            b"WARC-TREC-ID: clueweb-" + str(i).encode(),
            b"WARC-Date: 2009-03-84T15:35:08-0700",
            b"Content-Type: application/http;msgtype=response",
            b"Content-Length: " + str(len(payload)).encode(),
        ]
        if version == b"1.0":
            fields = [field for field in fields if field]
        out += b"WARC/" + version + end + end.join(fields) + end + end + payload + end + end
    return out


def medline_input(rng):
    titles = [
        "A title.",
        "A title &amp; more &#945;",
        "<i>Markup</i> first",
        "Markup <i>later</i> on",
        "",
        "<!-- c -->After a comment",
        "中文 title",
    ]
    bodies = [
        ["An abstract."],
        [],
        ["First part.", "Second part."],
        ["With <sup>2</sup> more"],
        [""],
        ["&lt;p&gt; kept"],
        ["  blanks  \n and lines "],
    ]
    out = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE MedlineCitationSet PUBLIC "-//NLM//DTD" "http://www.nlm.nih.gov/x.dtd">\n<MedlineCitationSet>\n'
    for i in range(49):
        parts = "".join(f'<AbstractText Label="L{k}">{text}</AbstractText>' for k, text in enumerate(bodies[i % 7]))
        title = "" if i % 12 == 11 else f"<ArticleTitle>{titles[i // 7]}</ArticleTitle>"
        abstract = f"<Abstract>{parts}<CopyrightInformation>c</CopyrightInformation></Abstract>" if parts else ""
        out += (
            f'<MedlineCitation Owner="NLM" Status="MEDLINE">\n<PMID Version="1">{1000 + i}</PMID>\n<Article>\n<Journal><Title>J</Title></Journal>\n'
            f"{title}\n{abstract}\n</Article>\n<CommentsCorrectionsList><CommentsCorrections><PMID>7</PMID></CommentsCorrections>"
            f"</CommentsCorrectionsList>\n</MedlineCitation>\n"
        )
    return (out + "</MedlineCitationSet>\n").encode()


def warc_lengths_input(rng, end, version):
    """Pages that go on beyond their Content-Length, and between the records what is none."""
    out = b""
    for i in range(60):
        data, headers = page(rng, i)
        if end == b"\n":
            headers = headers.replace(b"\r\n", b"\n")
        payload = headers + end + data + b"<p>the end of page " + str(i).encode()
        claimed = len(payload) - (0 if i % 3 == 0 else rng.choice([1, 2, 3, 10, 40, len(data) // 2]))
        fields = [
            b"WARC-Type: response",
            b"WARC-Target-URI: http://example.org/" + str(i).encode(),
            b"WARC-TREC-ID: lengths-" + str(i).encode(),
            b"WARC-Date: 2009-03-84T15:35:08-0700",
            b"Content-Length: " + str(claimed).encode(),
        ]
        out += b"WARC/" + version + end + end.join(fields) + end + end + payload
        out += rng.choice([end, end + end, end + b"not of any record" + end, end + end + end])
    return out


def pubmed_input(rng):
    """PubMed's XML of today, with markup in titles and abstracts, and abstracts in several parts."""
    texts = [
        "Variants at the <i>TERT</i> gene region and r<sup>2</sup>&lt;0.25.",
        "Plain text.",
        "<b>Bold</b> first, H<sub>2</sub>O then",
        "Nested <i>in <b>bold</b> italics</i> and <u/>nothing",
        "",
        "Math <mml:math xmlns:mml='http://www.w3.org/1998/Math/MathML'><mml:mi>x</mml:mi>\n <mml:mo>=</mml:mo></mml:math> here",
        "A <!-- comment --> and <![CDATA[<data>]]> within",
    ]
    out = '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD" "https://dtd.nlm.nih.gov/x.dtd">\n<PubmedArticleSet>\n'
    for i in range(42):
        parts = "".join(
            f'<AbstractText Label="L{k}">{rng.choice(texts)}</AbstractText>\n' for k in range(rng.randint(1, 3))
        )
        title = "" if i % 10 == 9 else f"<ArticleTitle>{texts[i % 7]}</ArticleTitle>"
        abstract = f"<Abstract>\n{parts}<CopyrightInformation>c</CopyrightInformation></Abstract>" if i % 6 else ""
        out += (
            f'<PubmedArticle>\n<MedlineCitation Owner="NLM">\n<PMID Version="1">{2000 + i}</PMID>\n<Article>{title}\n{abstract}'
            f"<OtherAbstract><AbstractText>other</AbstractText></OtherAbstract></Article>\n</MedlineCitation>\n"
            f"<PubmedData><ArticleIdList><ArticleId>7</ArticleId></ArticleIdList></PubmedData></PubmedArticle>\n"
        )
    return (out + "</PubmedArticleSet>\n").encode()


INPUTS = {
    "disks45/nocr": ("FBIS/FB1", sgml_input),
    "trec": ("sgml", sgml_input),
    "gov": ("G00/00", trecweb_input),
    "gov2": ("GX000/00", trecweb_input),
    "clueweb09": ("clueweb09.warc", lambda rng: warc_input(rng, b"\n", b"0.18")),
    "clueweb12": ("clueweb12.warc", lambda rng: warc_input(rng, b"\r\n", b"1.0")),
    "medline/2004": ("2004_TREC_XML_MEDLINE_A", medline_input),
    "medline/2017": ("medline17n0001.xml", medline_input),
}
# More files of the same corpora, and who reads them.
MORE_INPUTS = [
    ("clueweb09", "clueweb09-lengths.warc", lambda rng: warc_lengths_input(rng, b"\n", b"0.18"), warc_docs(True)),
    ("clueweb12", "clueweb12-lengths.warc", lambda rng: warc_lengths_input(rng, b"\r\n", b"1.0"), clueweb12_record_by_record),
    ("medline/2017", "pubmed18n0001.xml", pubmed_input, medline_docs),
    ("pubmed", "pubmed18n0001.xml", pubmed_input, pubmed_docs),
]
ABSTRACTS = {
    "AACR_2014-3448.txt": "Meeting: AACR 2014\nTitle: A title of\ntwo lines\n\n  The abstract.\n\nIts second part.\n",
    "ASCO_189985-199.txt": "2016 ASCO\nTitle:  Naïve title\n\n\nBackground: x\n",
}


# ---- real pieces ----------------------------------------------------------------------------------------------------------

PIECES_OF_CORPORA = [
    ("clueweb09", "clueweb09/ClueWeb09_English_Sample_File.warc.gz", clueweb09_sample),
    ("clueweb09", "anserini/cw09/collection1/segment1.warc.gz", warc_docs(True)),
    (
        "clueweb12",
        "anserini/cw12/collection1/segment1.warc.gz",
        warc_docs(True),
    ),  # it has LF where WARC 1.0 wants CRLF
    ("disks45/nocr", "anserini/trec/collection1/segment1.txt", disks45_docs),
    ("disks45/nocr", "anserini/trec/collection2/trec1", disks45_docs),
    ("disks45/nocr", "anserini/trec/collection2/trec2", disks45_docs),
    ("disks45/nocr", "anserini/trec/collection3/trec1", disks45_docs),
    ("disks45/nocr", "anserini/trec/collection3/trec2", disks45_docs),
    ("trec", "anserini/trec/collection1/segment1.txt", trec_docs),
    ("trec", "anserini/trec/collection2/trec1", trec_docs),
    ("trec", "anserini/trec/collection2/trec2", trec_docs),
    ("trec", "trec-sgml-shakespeare/shakespeare-merchant.trec.1", trec_docs),
    ("trec", "trec-sgml-shakespeare/shakespeare-merchant.trec.2", trec_docs),
    ("medline/2017", "medline/pubmed1.xml", medline_docs),
    ("medline/2017", "medline/pubmed2.xml", medline_docs),
]


# ---- records of ir_datasets' tests ----------------------------------------------------------------------------------------

PAGE_MIDDLE = b"\"'></script></style>--><body> middle "
SGML_MIDDLE = b"\n</P>\n</DATE>\n<TEXT>\nmiddle "


def value_of(field, middle):
    """A field in bytes. Where the sample has only its start and end, these with our own words between."""
    if isinstance(field, str):
        return field.encode()
    if "bytes_latin1" in field:
        return field["bytes_latin1"].encode("latin1")
    regex = field["regex"]
    pattern = regex.encode() if isinstance(regex, str) else regex["bytes_latin1"].encode("latin1")
    start, end = re.fullmatch(rb"\^(.*?)(?<!\\)\.\{\d+\}(.*)\$", pattern, re.S).groups()
    return middle.join(re.sub(rb"\\(.)", rb"\1", part, flags=re.S) for part in (start, end))


def sample_texts(folder):
    for name in ["gov", "gov2", "clueweb09", "clueweb12", "disks45"]:
        for line in open(folder / f"{name}.jsonl", encoding="utf8"):
            sample = json.loads(line)
            if sample["kind"] != "docs" or "record" not in sample or not isinstance(sample["dataset"], str):
                continue
            record = sample["record"]
            if name == "disks45":
                data = value_of(record["arg3"], SGML_MIDDLE)
                [(_, text)] = texts(TrecDocs(None, parser="sax")._parser(io.BytesIO(data)))
            else:
                fields = (
                    [record["arg3"], record["arg4"]]
                    if name.startswith("clueweb")
                    else [record["arg2"], record["arg3"]]
                )
                headers, body = (value_of(field, PAGE_MIDDLE) for field in fields)
                text = sax_html_parser(body, headers=headers, fields=[{"title", "body"}])[0]
            yield sample["dataset"], record["arg0"], text


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
    with open(HERE / "expected.jsonl", "w", encoding="utf8") as out:

        def write(corpus, name, documents):
            for doc_id, text in documents:
                out.write(
                    json.dumps({"corpus": corpus, "file": name, "id": doc_id, "text": text}, ensure_ascii=True) + "\n"
                )

        for corpus, (name, make) in INPUTS.items():
            (inputs / name).parent.mkdir(parents=True, exist_ok=True)
            (inputs / name).write_bytes(make(random.Random(corpus)))
            write(corpus, name, READ[corpus](inputs / name))
        for corpus, name, make, read in MORE_INPUTS:
            (inputs / name).write_bytes(make(random.Random(name)))
            write(corpus, name, read(inputs / name))
        for name, text in ABSTRACTS.items():
            (inputs / name).write_text(text, encoding="utf8")
            write("medline/2017", name, abstracts(inputs / name))
    if len(sys.argv) > 1:
        with open(HERE / "pieces.jsonl", "w", encoding="utf8") as out:
            for corpus, piece, read in PIECES_OF_CORPORA:
                for doc_id, text in read(Path(sys.argv[1]) / piece):
                    if not doc_id:
                        continue  # NTCIR's <DOC id="...">, which ir_datasets does not read
                    line = {"corpus": corpus, "piece": piece, "id": doc_id, "crc64": crc64(text.encode())}
                    out.write(json.dumps(line) + "\n")
        with open(HERE / "samples.jsonl", "w", encoding="utf8") as out:
            for corpus, doc_id, text in sample_texts(Path(sys.argv[1]) / "irds-integration-samples"):
                out.write(json.dumps({"corpus": corpus, "id": doc_id, "crc64": crc64(text.encode())}) + "\n")


if __name__ == "__main__":
    main()
