#include "plugin/index_format/segment/segment_writer.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/utf8.h"
#include "plugin/index_format/length_byte.h"
#include "plugin/index_format/segment/block_sums.h"
#include "plugin/index_format/segment/declared_postings.h"
#include "plugin/index_format/segment/postings_writer.h"
#include "plugin/index_format/segment/sort_by_text.h"
#include "plugin/index_format/segment/stored_fields.h"
#include "plugin/index_format/segment/term_table.h"

namespace relucent::segment {
namespace {

constexpr std::string_view kNormsHeader = "NRM\xFF";

/// Lucene skips terms that do not fit into one of its buffers.
bool too_long(std::string_view term) {
  constexpr std::size_t max_term = 16383;
  return term.size() > max_term && count_code_points(term) > max_term;
}

/// An id that Lucene++ can hold: well-formed and without U+FFFF, Lucene++'s end-of-buffer mark.
std::string_view stored_id(std::string_view id, std::string& storage) {
  constexpr std::string_view end_of_buffer = "\xEF\xBF\xBF";
  const std::string_view text = well_formed_utf8(id, storage);
  if (text.find(end_of_buffer) == std::string_view::npos) return text;
  std::string copy(text);
  for (std::size_t at = 0; (at = copy.find(end_of_buffer, at)) != std::string::npos; at += kReplacementUtf8.size()) {
    copy.replace(at, end_of_buffer.size(), kReplacementUtf8);
  }
  storage = std::move(copy);
  return storage;
}

/// Collects the tokens of a range in text order and inverts them into postings in term order.
class Inverted {
 public:
  void add_document(std::span<const analysis::Term> terms) {
    std::int64_t position = -1, overlaps = 0;
    for (const analysis::Term& term : terms) {
      position += term.position_increment;
      overlaps += term.position_increment == 0 ? 1 : 0;
      if (too_long(term.text)) continue;
      numbers_.push_back(terms_.number_of(term.text, term.hash));
      positions_.push_back(static_cast<std::uint32_t>(position));
    }
    document_ends_.push_back(numbers_.size());
    const auto tokens = static_cast<std::int64_t>(terms.size());
    length_bytes_.push_back(static_cast<char>(bm25::length_byte(static_cast<std::int32_t>(tokens - overlaps))));
    tokens_ += tokens;
    documents_with_tokens_ += tokens > 0 ? 1 : 0;
  }

  void write(std::uint32_t field, PostingsWriter& postings, TermDictionaryWriter& dictionary) {
    collect();
    const auto order = sorted_by_text(terms_.size(), [&](std::uint32_t number) { return terms_.text(number); });
    for (const std::uint32_t number : order) {
      postings.start_term(true);
      const std::size_t end = term_ends_[number];
      for (std::size_t i = number == 0 ? 0 : term_ends_[number - 1]; i < end;) {
        const std::uint32_t document = postings_[i].document;
        std::size_t last = i + 1;
        while (last < end && postings_[last].document == document) ++last;
        postings.add_document(static_cast<std::int32_t>(document), static_cast<std::int32_t>(last - i));
        for (std::uint32_t before = 0; i < last; ++i) {
          postings.positions().number(postings_[i].position - before);
          before = postings_[i].position;
        }
      }
      dictionary.add(field, terms_.text(number), postings.finish_term());
    }
  }

  std::string_view length_bytes() const { return length_bytes_; }
  std::int64_t documents_with_tokens() const { return documents_with_tokens_; }
  std::int64_t tokens() const { return tokens_; }

 private:
  struct Posting {
    std::uint32_t document, position;
  };

  /// Counting sort of the tokens by term; the tokens of a term stay in order of document and position.
  void collect() {
    std::vector<std::size_t> next(terms_.size() + 1);
    for (const std::uint32_t number : numbers_) ++next[number + 1];
    for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    term_ends_.assign(next.begin() + 1, next.end());
    postings_.resize(numbers_.size());
    std::size_t token = 0;
    for (std::size_t document = 0; document < document_ends_.size(); ++document) {
      for (; token < document_ends_[document]; ++token) {
        postings_[next[numbers_[token]]++] = {static_cast<std::uint32_t>(document), positions_[token]};
      }
    }
    numbers_ = {};
    positions_ = {};
  }

  TermTable terms_;
  std::vector<std::uint32_t> numbers_, positions_;  // [tokens]: the term and its place in the document
  std::vector<std::size_t> document_ends_;          // [documents]: one past the last token
  std::vector<Posting> postings_;                   // [tokens]
  std::vector<std::size_t> term_ends_;              // [terms]: one past the last posting
  std::string length_bytes_;                        // [documents]
  std::int64_t documents_with_tokens_ = 0, tokens_ = 0;
};

void write_ids(std::uint32_t field, const std::vector<std::string>& ids, PostingsWriter& postings,
               TermDictionaryWriter& dictionary) {
  const auto order = sorted_by_text(static_cast<std::uint32_t>(ids.size()),
                                    [&](std::uint32_t document) -> std::string_view { return ids[document]; });
  for (std::size_t i = 0; i < order.size();) {
    const std::string& id = ids[order[i]];
    if (too_long(id)) {
      ++i;
      continue;
    }
    postings.start_term(false);
    for (; i < order.size() && ids[order[i]] == id; ++i) postings.add_document(static_cast<std::int32_t>(order[i]), 1);
    dictionary.add(field, id, postings.finish_term());
  }
}

}  // namespace

Segment write_segment(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                      const DocumentRange& documents, analysis::TermSource& source, const TokenIdEncoder& token_ids) {
  const auto file = [&](const char* extension) { return file_of(folder, name, extension); };
  Segment segment{name, static_cast<std::int32_t>(documents.size()), {}, 0, 0};
  auto& files = segment.files;

  Inverted inverted;
  std::vector<std::string> ids;
  ids.reserve(documents.size());
  StoredFieldsWriter stored(file("fdt"), file("fdx"));
  std::string id_room, text_room, token_ids_bytes;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string_view id = stored_id(documents[i].id, id_room),
                           text = well_formed_utf8(documents[i].text, text_room);
    if (fields.token_ids) write_token_ids(token_ids, text, token_ids_bytes);
    stored.add(fields, id, text, token_ids_bytes, fields.metadata.stored ? documents[i].metadata : std::string_view());
    inverted.add_document(source.terms_of(text));
    ids.emplace_back(id);
  }
  files["fdt"] = stored.documents().finish();
  files["fdx"] = stored.index().finish();
  files["fnm"] = fields.write(file("fnm"));
  segment.documents_with_tokens = inverted.documents_with_tokens();
  segment.tokens = inverted.tokens();

  FileOutput norms(file("nrm"));
  norms.bytes(kNormsHeader);
  norms.bytes(inverted.length_bytes());
  files["nrm"] = norms.finish();

  PostingsWriter postings(file("frq"), file("prx"), segment.documents);
  TermDictionaryWriter dictionary(file("tis"), file("tii"));
  DeclaredPostings declared(fields.metadata.declared, documents);
  for (const std::uint32_t field : fields.indexed()) {
    if (field == fields.contents_number) {
      inverted.write(field, postings, dictionary);
    } else if (field == fields.id_number) {
      write_ids(field, ids, postings, dictionary);
    } else {
      declared.write(field - fields.declared_number(0), field, postings, dictionary);
    }
  }
  std::tie(files["frq"], files["prx"]) = postings.finish();
  std::tie(files["tis"], files["tii"]) = dictionary.finish();
  const FileSum sums = write_block_sums(file(kBlockSums), files);
  files[kBlockSums] = sums;
  return segment;
}

}  // namespace relucent::segment
