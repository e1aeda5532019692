#include "index_tools/corpora/corpus_reader.h"

#include <fmt/core.h>

#include <string_view>

namespace relucent::index_tools {
namespace {

constexpr std::size_t kMaxId = 1024;

// Why an id is unusable in run files and judgments, whose columns are separated by white space; null if it is usable.
const char* problem_of_id(std::string_view id) {
  if (id.empty()) return "empty id";
  if (id.size() > kMaxId) return "id longer than 1024 bytes";
  for (const char c : id) {
    if (static_cast<unsigned char>(c) <= ' ') return "id with white space or control characters";
  }
  return nullptr;
}

}  // namespace

// All parts as one text; the part's name is kept up to date.
class CorpusReader::JoinedParts : public ByteStream {
 public:
  explicit JoinedParts(CorpusReader& reader) : reader_(reader) {}

  std::size_t read(char* buffer, std::size_t capacity) override {
    while (!ended_) {
      if (const std::size_t count = reader_.parts_.read(buffer, capacity); count > 0) return count;
      ended_ = !reader_.parts_.next_part();
      if (!ended_) reader_.part_ = reader_.parts_.part_name();
    }
    return 0;
  }

 private:
  CorpusReader& reader_;
  bool ended_ = false;
};

CorpusReader::CorpusReader(const Corpus& corpus, std::vector<InputFile> files, const std::vector<std::string>& names,
                           bool strict)
    : corpus_(corpus),
      report_(strict),
      parts_(std::move(files), names.empty() ? corpus.names : names, corpus.archives_by_name) {}

CorpusReader::~CorpusReader() = default;

bool CorpusReader::next(Document& document) {
  for (;;) {
    if (reader_ == nullptr) {
      if (!parts_.next_part()) return false;
      open_part();
    }
    if (next_of_part(document)) return true;
    reader_.reset();
  }
}

void CorpusReader::open_part() {
  part_ = parts_.part_name();
  path_ = parts_.part_path();
  if (const ReadLines* read = std::get_if<ReadLines>(&corpus_.read)) {
    lines_.emplace(parts_, part_, report_);
    reader_ = (*read)(*lines_);
    return;
  }
  if (corpus_.concatenate_parts) joined_ = std::make_unique<JoinedParts>(*this);
  ByteStream& bytes = corpus_.concatenate_parts ? static_cast<ByteStream&>(*joined_) : parts_;
  reader_ = std::get<ReadBytes>(corpus_.read)({bytes, part_, path_, report_});
}

bool CorpusReader::next_of_part(Document& document) {
  while (reader_->next(document)) {
    if (const char* problem = problem_of_id(document.id)) {
      report_.malformed(problem, part_, document.line);
      continue;
    }
    report_.document();
    if (document.text.empty()) report_.empty_text();
    return true;
  }
  return false;
}

std::string CorpusReader::place_of(const Document& document) const {
  return fmt::format("{}:{}", part_, document.line);
}

}  // namespace relucent::index_tools
