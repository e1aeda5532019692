#pragma once

#include "index_tools/corpora/document_reader.h"

/// The readers of all corpora, for corpora.cpp's table: from lines in UTF-8 or from a part's raw bytes.
namespace relucent::index_tools {

/// One document per line: id, tab, text. Further tabs belong to the text. Empty lines are skipped.
std::unique_ptr<DocumentReader> read_tsv(LineReader& lines);
/// MS MARCO's passage collection (collection.tsv): exactly two columns, double encoding undone as ir_datasets does.
std::unique_ptr<DocumentReader> read_msmarco_passage(LineReader& lines);
/// MS MARCO's documents as a table (msmarco-docs.tsv): id, url, title, body. The text is title and body, separated
/// by a space.
std::unique_ptr<DocumentReader> read_msmarco_document_table(LineReader& lines);
/// ANTIQUE (antique-collection.txt): exactly two columns, id and text.
std::unique_ptr<DocumentReader> read_antique(LineReader& lines);
/// NFCorpus (raw/doc_dump.txt): id, url, title, abstract. The text is title, a space, and abstract.
std::unique_ptr<DocumentReader> read_nfcorpus(LineReader& lines);

/// A table in CSV (RFC 4180) whose first line names its columns, in any order and case: the id is the first column
/// named `id`, `docno`, `_id` or `docid`, the text is `text` or `contents`; a non-empty `title` precedes the text,
/// separated by a space. Other columns are ignored. Throws Error `invalid_data` for a first line without an id or a
/// text. A record with more or fewer fields than the first line is malformed.
std::unique_ptr<DocumentReader> read_csv(LineReader& lines);

/// One JSON object per line: the id is the first of `id`, `docno`, `_id` and `docid` that is present (a string or a
/// whole number), the text is `text` or `contents`. A non-empty `title` precedes the text, separated by a space. Other
/// keys and empty lines are skipped. The objects may also be the elements of one array, or span several lines each, as
/// Anserini accepts them; error locations then count objects.
std::unique_ptr<DocumentReader> read_jsonl(const CorpusPart& part);
/// BEIR's corpora (corpus.jsonl): `_id`, `title` and `text`, the last two always separated by a space, as ir_datasets
/// joins them.
std::unique_ptr<DocumentReader> read_beir(const CorpusPart& part);

/// One document per file; the id is the file's path below the input, with white space and '%' percent-encoded.
/// The text of HTML is the title, a space, and the rest of the page, or the page alone if it has no title. A byte order
/// mark or the page determines the charset, else it is UTF-8. *.txt files are read like read_text().
std::unique_ptr<DocumentReader> read_html(const CorpusPart& part);
/// The file as it is, in UTF-8.
std::unique_ptr<DocumentReader> read_text(const CorpusPart& part);

/// One document per file, by the end of its name: PDF (text_of_pdf()), DOCX (text_of_docx()), HTML as in read_html(),
/// otherwise text, in UTF-8 or, with a byte order mark, UTF-16. The id is as in read_html(). A file whose text cannot
/// be had counts as skipped.
std::unique_ptr<DocumentReader> read_files(const CorpusPart& part);

/// MEDLINE in any of its formats, detected from the first bytes: XML (one MedlineCitation per document), the AACR and
/// ASCO abstracts of the 2017 collection (one per file, whose name is the id), and MEDLINE's display format (PMID, TI,
/// AB). The text is title, a space, abstract, as ir_datasets reads medline/2004 and medline/2017: in XML, the text
/// before the first element inside either, and only the first part of the abstract.
std::unique_ptr<DocumentReader> read_medline(const CorpusPart& part);
/// The same formats, but with whole titles and abstracts from XML: including the text inside elements such as <i> and
/// <sup>, and all parts of an abstract, separated by a space.
std::unique_ptr<DocumentReader> read_pubmed(const CorpusPart& part);

/// TREC's SGML: records from <DOC> to </DOC> at the start of a line, with a <DOCNO> or, as in NTCIR, <DOC
/// id="...">. The text is all text outside DOCNO, with entities resolved and white space collapsed. UTF-8.
std::unique_ptr<DocumentReader> read_trec(const CorpusPart& part);
/// Disks 4 and 5: headlines, a space, and the contents (TEXT, HL, HEAD, TTL, DD, DATE, LP, LEADPARA), as
/// ir_datasets reads disks45/nocr.
std::unique_ptr<DocumentReader> read_disks45(const CorpusPart& part);

/// TRECweb, the format of GOV and GOV2: <DOC>, <DOCNO>, <DOCHDR> (the URL, then HTTP headers), an HTML page,
/// </DOC>. The text is that of title and body, as ir_datasets reads gov and gov2.
std::unique_ptr<DocumentReader> read_trecweb(const CorpusPart& part);

/// WARC 0.18, 1.0 and 1.1: the `response` records with HTML. The id is WARC-TREC-ID or, if missing,
/// WARC-Record-ID without its angle brackets. The text is that of title and body.
std::unique_ptr<DocumentReader> read_warc(const CorpusPart& part);
/// The same for ClueWeb09 and ClueWeb12, where every response has a WARC-TREC-ID.
std::unique_ptr<DocumentReader> read_clueweb(const CorpusPart& part);

/// MS MARCO's documents in either of their formats, detected from the first line: TREC's (msmarco-docs.trec, which
/// ir_datasets reads: <DOC>, <DOCNO>, <TEXT> with the lines url, title, body, </TEXT>, </DOC>) or a table
/// (msmarco-docs.tsv). The text is the title, a space, and the body, which keeps its line ends in TREC's format.
std::unique_ptr<DocumentReader> read_msmarco_document(LineReader& lines);

/// MS MARCO v2 passages (msmarco_passage_NN.gz): JSON lines, id `pid`, text `passage`.
std::unique_ptr<DocumentReader> read_msmarco_passage_v2(LineReader& lines);
/// MS MARCO v2 documents (msmarco_doc_NN.gz): JSON lines, id `docid`, text `title`, `headings` and `body`,
/// separated by spaces.
std::unique_ptr<DocumentReader> read_msmarco_document_v2(LineReader& lines);

/// args.me (debateorg.json and its siblings): one JSON object whose `arguments` may take gigabytes. The id is `id`; the
/// text is the premises' texts joined by spaces, a space, and the conclusion. Error locations count arguments, not
/// lines.
std::unique_ptr<DocumentReader> read_argsme(const CorpusPart& part);

/// CORD-19's metadata.csv: the id is `cord_uid`, the text `title`, a space, and `abstract`. A paper listed twice gives
/// two documents with the same id.
std::unique_ptr<DocumentReader> read_cord19(LineReader& lines);
/// The same, followed by a space and the full text: heading and text of every section, joined by spaces. The full text
/// comes from the first of `pmc_json_files`, else of `pdf_json_files`, in unpacked folders next to metadata.csv.
/// Throws Error if metadata.csv is inside an archive.
std::unique_ptr<DocumentReader> read_cord19_fulltext(LineReader& lines);

/// Cranfield in SMART's format (.I id, .T title, .A, .B, .W text): title, a space, text, each stripped of white space
/// at both ends. A final .I line without a number is not a document.
std::unique_ptr<DocumentReader> read_cranfield(LineReader& lines);
/// MED in SMART's format (.I id, .W text): the text, stripped of white space at both ends.
std::unique_ptr<DocumentReader> read_med(LineReader& lines);

/// Vaswani (NPL) in either of its formats, detected from the first line: TREC's (<DOC>, <DOCNO>, text, </DOC>), or an
/// id line and text lines up to a line "   /". The text keeps its line ends, including the last, as in ir_datasets.
std::unique_ptr<DocumentReader> read_vaswani(LineReader& lines);

/// The Washington Post's collection (TREC_Washington_Post_collection.v2.jl): JSON lines, id `id`. The text is the
/// title, a space, and one line per item of `contents` that has text: paragraphs (HTML as BeautifulSoup reads XML),
/// captions of images, blurbs of videos and galleries, tweets. A null title becomes "None", as in ir_datasets'
/// texts.
std::unique_ptr<DocumentReader> read_wapo(LineReader& lines);

}  // namespace relucent::index_tools
