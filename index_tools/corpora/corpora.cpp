#include "index_tools/corpora/corpora.h"

#include <fmt/core.h>

#include "base/text.h"
#include "index_tools/corpora/readers.h"
#include "relucent/error.h"

namespace relucent::index_tools {

const std::vector<Corpus>& corpora() {
  static const std::vector<Corpus> table = {
      // Any documents.
      {"tsv", "id, tab, text", {"*.tsv", "*.txt"}, 0, read_tsv},
      {"csv", "CSV whose first line names the columns: id, text and, optionally, title", {"*.csv"}, 0, read_csv},
      {"jsonl", "JSON with id, text and, optionally, title", {"*.jsonl", "*.json", "*.jl", "*.ndjson"}, 0, read_jsonl},
      {"text", "text files; the id is the path", {"*.txt", "*.text", "*.md"}, 0, read_text},
      {"html", "HTML and text files; the id is the path", {"*.html", "*.htm", "*.xhtml", "*.txt"}, 0, read_html},
      {"files",
       "PDF, Word (DOCX), HTML, Markdown and text files; the id is the path",
       {"*.pdf", "*.docx", "*.html", "*.htm", "*.xhtml", "*.md", "*.markdown", "*.txt", "*.text"},
       0,
       read_files,
       false,
       true},
      {"pubmed",
       "PubMed XML or its display format, with whole titles and abstracts",
       {"*.xml", "*.txt"},
       0,
       read_pubmed},
      {"trec", "TREC SGML (DOC, DOCNO)", {"*"}, 0, read_trec},
      {"trecweb", "TRECweb (DOC, DOCNO, DOCHDR, HTML)", {"*"}, 0, read_trecweb},
      {"warc", "WARC 0.18, 1.0 or 1.1 with HTML", {"*.warc"}, 0, read_warc},
      {"beir", "any corpus of BEIR: corpus.jsonl", {"corpus.jsonl"}, 0, read_beir},
      // Research collections.
      {"msmarco-passage",
       "MS MARCO passages: collection.tsv, also in collectionandqueries.tar.gz",
       {"collection*.tsv"},
       8'841'823,
       read_msmarco_passage},
      {"msmarco-passage-v2",
       "MS MARCO v2 passages: msmarco_v2_passage.tar, or its files",
       {"msmarco_passage_*"},
       138'364'198,
       read_msmarco_passage_v2},
      {"msmarco-document",
       "MS MARCO documents: msmarco-docs.trec, as ir_datasets reads them, or msmarco-docs.tsv",
       {"msmarco-docs.trec", "msmarco-docs.tsv"},
       3'213'835,
       read_msmarco_document},
      {"msmarco-document-v2",
       "MS MARCO v2 documents: msmarco_v2_doc.tar, or its files",
       {"msmarco_doc_*"},
       11'959'635,
       read_msmarco_document_v2},
      {"antique", "ANTIQUE: antique-collection.txt", {"antique-collection.txt"}, 403'666, read_antique},
      {"argsme/1.0", "args.me 1.0: argsme.zip, or args-me.json", {"args-me.json"}, 387'692, read_argsme},
      {"argsme/1.0-cleaned",
       "args.me 1.0, cleaned: argsme-1.0-cleaned.zip, or its file",
       {"args-me-1.0-cleaned.json"},
       382'545,
       read_argsme},
      {"argsme/2020-04-01",
       "args.me 2020-04-01: debateorg.zip and the four others, or their files",
       {"debateorg.json", "debatepedia.json", "debatewise.json", "idebate.json", "parliamentary.json"},
       387'740,
       read_argsme},
      {"cord19", "CORD-19 of 2020-07-16: metadata.csv", {"metadata.csv"}, 192'509, read_cord19},
      {"cord19/fulltext",
       "CORD-19 with full texts: the unpacked release, with metadata.csv next to document_parses",
       {"metadata.csv"},
       192'509,
       read_cord19_fulltext},
      {"nfcorpus", "NFCorpus: raw/doc_dump.txt, also in nfcorpus.tar.gz", {"doc_dump.txt"}, 5'371, read_nfcorpus},
      {"wapo/v2",
       "Washington Post: WashingtonPost.v2.tar.gz, or its file",
       {"TREC_Washington_Post_collection.v2.jl"},
       595'037,
       read_wapo},
      {"wapo/v4",
       "Washington Post: WashingtonPost.v4.tar.gz, or its file",
       {"TREC_Washington_Post_collection.v4.jl"},
       728'626,
       read_wapo},
      {"disks45/nocr",
       "TREC disks 4 and 5 without the Congressional Record: the folders FBIS, FR94, FT and LATIMES",
       {"FBIS/FB*", "FR94/[0-9][0-9]/FR*", "FT/*/FT*", "LATIMES/LA*"},
       528'155,
       read_disks45},
      {"gov", "GOV: G00/*.gz and so on", {"G[0-9][0-9]/*"}, 1'247'753, read_trecweb},
      {"gov2", "GOV2: GOV2_data/GX000/*.gz and so on", {"GX[0-9][0-9][0-9]/*"}, 25'205'179, read_trecweb},
      {"clueweb09", "ClueWeb09: *.warc.gz", {"*.warc"}, 1'040'859'705, read_clueweb},
      {"clueweb09/en", "ClueWeb09, English: ClueWeb09_English_*", {"*.warc"}, 503'903'810, read_clueweb},
      {"clueweb09/catb", "ClueWeb09, category B: ClueWeb09_English_1", {"*.warc"}, 50'220'423, read_clueweb},
      {"clueweb12", "ClueWeb12: *.warc.gz", {"*.warc"}, 733'019'372, read_clueweb},
      {"clueweb12/b13", "ClueWeb12, category B13: *.warc.gz", {"*.warc"}, 52'343'021, read_clueweb},
      {"medline/2004",
       "MEDLINE of TREC Genomics 2004: the four XML parts",
       {"*medline*", "*.xml"},
       3'672'808,
       read_medline,
       true},
      {"medline/2017",
       "MEDLINE of TREC Precision Medicine 2017: medline*.xml.gz in tar, and the extra abstracts",
       {"*.xml", "*.txt"},
       26'740'025,
       read_medline},
      {"beir/nfcorpus", "NFCorpus in BEIR's format: corpus.jsonl", {"corpus.jsonl"}, 3'633, read_beir},
      {"cranfield", "Cranfield in SMART's format: cran.all.1400", {"cran.all*"}, 1'400, read_cranfield},
      {"med", "MED in SMART's format: MED.ALL", {"MED.ALL*"}, 1'033, read_med},
      {"vaswani", "Vaswani (NPL): doc-text, or doc-text.trec", {"doc-text*"}, 11'429, read_vaswani},
  };
  return table;
}

const Corpus& find_corpus(std::string_view id) {
  for (const Corpus& corpus : corpora()) {
    if (corpus.id == id) return corpus;
  }
  std::vector<std::string> names;
  for (const Corpus& corpus : corpora()) names.push_back(corpus.id);
  throw Error(ErrorKind::usage, fmt::format("--corpus {}", id), "unknown corpus",
              suggest_name(id, names) + "choose from " + join(names));
}

}  // namespace relucent::index_tools
