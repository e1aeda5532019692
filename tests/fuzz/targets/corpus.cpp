// Every reader of a corpus: an input is "CORPUS\n" and a file of it, plain or in an archive. Corpora: markup (XML,
// HTML, WARC, SGML), JSON, CSV and TSV, and the forms of old collections.
#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/corpus_reader.h"
#include "index_tools/corpora/input_files.h"
#include "tests/fuzz/line_mutator.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/text_input.h"

namespace relucent::fuzz {
namespace {

constexpr std::size_t kMostDocuments = 20'000;

const index_tools::Corpus* corpus_of(std::string_view id) {
  for (const auto& corpus : index_tools::corpora()) {
    if (corpus.id == id) return &corpus;
  }
  return nullptr;
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_LINES
RELUCENT_FUZZ_TARGET(corpus) {
  const auto [id, bytes] = at_first_line(input);
  // "files" gives PDFs to another program; its other readers are those of "html" and "text" and docx_text.
  const index_tools::Corpus* const corpus = id == "files" && bytes.find("%PDF") != bytes.npos ? nullptr : corpus_of(id);
  if (corpus == nullptr) return;
  const auto path = scratch_file(id == "files" ? "corpus.docx" : "corpus", bytes);
  answer_or_error([&, size = bytes.size()] {
    const auto files = index_tools::find_input_files({path.string()}, corpus->names);
    index_tools::CorpusReader reader(*corpus, files.files, {}, false);
    std::size_t documents = 0;
    for (index_tools::Document document; reader.next(document);) {
      if (document.id.empty()) report("a document without an id");
      reader.place_of(document);
      if (++documents > kMostDocuments && documents > size) report("more documents than bytes");
    }
    reader.report().malformed_summary();
  });
}
