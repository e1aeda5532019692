#pragma once

#include <memory>
#include <optional>
#include <string>

#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/input_parts.h"
#include "index_tools/corpora/read_report.h"

namespace relucent::index_tools {

/// All documents of a corpus's files, in order. Performs the checks that apply to every format: a record whose id is
/// empty, contains white space or is very long is malformed. One thread at a time.
class CorpusReader {
 public:
  /// `corpus` outlives this. `names` replaces the corpus's own patterns for archive entries unless it is empty.
  CorpusReader(const Corpus& corpus, std::vector<InputFile> files, const std::vector<std::string>& names, bool strict);

  ~CorpusReader();

  /// False at the end. Throws Error: see InputParts and ReadReport::malformed().
  bool next(Document& document);
  /// Location of the last document that next() returned, as file:line.
  std::string place_of(const Document& document) const;

  const ReadReport& report() const { return report_; }
  const InputParts& parts() const { return parts_; }

 private:
  class JoinedParts;

  void open_part();
  bool next_of_part(Document& document);

  const Corpus& corpus_;
  ReadReport report_;
  InputParts parts_;
  std::string part_, path_;
  std::unique_ptr<JoinedParts> joined_;
  std::optional<LineReader> lines_;
  std::unique_ptr<DocumentReader> reader_;
};

}  // namespace relucent::index_tools
