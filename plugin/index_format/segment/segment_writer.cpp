#include "plugin/index_format/segment/segment_writer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/utf8.h"
#include "plugin/index_format/fields/number_terms.h"
#include "plugin/index_format/length_byte.h"
#include "plugin/index_format/segment/block_sums.h"
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
  /// Adds terms of the document that finish_document() ends; those of its next value follow them.
  void add(std::span<const analysis::Term> terms) {
    for (const analysis::Term& term : terms) {
      position_ += term.position_increment;
      overlaps_ += term.position_increment == 0 ? 1 : 0;
      if (too_long(term.text)) continue;
      numbers_.push_back(terms_.number_of(term.text, term.hash));
      positions_.push_back(static_cast<std::uint32_t>(position_));
    }
    tokens_ += static_cast<std::int64_t>(terms.size());
  }

  void finish_document() {
    document_ends_.push_back(numbers_.size());
    length_bytes_.push_back(static_cast<char>(bm25::length_byte(static_cast<std::int32_t>(tokens_ - overlaps_))));
    counts_.sum_total_term_freq += tokens_;
    counts_.document_count += tokens_ > 0 ? 1 : 0;
    position_ = -1;
    tokens_ = overlaps_ = 0;
  }

  /// Documents until now.
  std::size_t documents() const { return document_ends_.size(); }

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
  const FieldStatistics& counts() const { return counts_; }

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
  FieldStatistics counts_;
  std::int64_t position_ = -1, tokens_ = 0, overlaps_ = 0;  // of the document that is being added
};

/// The declared texts of a range; null where the field is not a text.
std::vector<std::unique_ptr<Inverted>> declared_texts(const std::vector<fields::DeclaredField>& declared,
                                                      const DocumentRange& documents, analysis::TermSource& source) {
  std::vector<std::unique_ptr<Inverted>> texts;
  bool any = false;
  for (const fields::DeclaredField& field : declared) {
    texts.push_back(field.kind == fields::Kind::text ? std::make_unique<Inverted>() : nullptr);
    any = any || texts.back();
  }
  if (!any) return texts;
  const auto finish_up_to = [](Inverted& text, std::size_t document) {
    while (text.documents() < document) text.finish_document();
  };
  std::string room;
  documents.each_value([&](std::uint32_t document, std::uint32_t field, std::string_view value) {
    if (field >= texts.size() || !texts[field]) return;
    finish_up_to(*texts[field], document);
    texts[field]->add(source.terms_of(well_formed_utf8(value, room)));
  });
  for (const auto& text : texts) {
    if (text) finish_up_to(*text, documents.size());
  }
  return texts;
}

/// The keywords and numbers of the declared fields in a range of documents, as postings without frequencies.
class DeclaredPostings {
 public:
  DeclaredPostings(std::span<const fields::DeclaredField> declared, const DocumentRange& documents)
      : fields_(declared.size()) {
    documents.each_value([&](std::uint32_t document, std::uint32_t i, std::string_view bytes) {
      if (i >= fields_.size()) return;
      const auto add = [&](std::string_view term) {
        const std::uint32_t number = fields_[i].terms.number_of(term, checksum(term));
        fields_[i].postings.emplace_back(number, static_cast<std::int32_t>(document));
      };
      switch (declared[i].kind) {
        case fields::Kind::keyword: return add(bytes);
        case fields::Kind::number: return fields::each_term(bytes, add);
        case fields::Kind::text: return;
      }
    });
  }

  /// Writes the terms of the declared field `i`, whose number in the segment is `field`.
  void write(std::size_t i, std::uint32_t field, PostingsWriter& postings, TermDictionaryWriter& dictionary) {
    TermTable& terms = fields_[i].terms;
    auto& found = fields_[i].postings;
    std::ranges::sort(found);
    // A document may have a term twice, by equal values or by numbers that share a prefix.
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<std::size_t> ends(terms.size());
    for (std::size_t at = 0; at < found.size(); ++at) ends[found[at].first] = at + 1;
    const auto order = sorted_by_text(terms.size(), [&](std::uint32_t number) { return terms.text(number); });
    for (const std::uint32_t number : order) {
      postings.start_term(false);
      for (std::size_t at = number == 0 ? 0 : ends[number - 1]; at < ends[number]; ++at) {
        postings.add_document(found[at].second, 1);
      }
      dictionary.add(field, terms.text(number), postings.finish_term());
    }
    fields_[i] = {};
  }

 private:
  struct Field {
    TermTable terms;
    std::vector<std::pair<std::uint32_t, std::int32_t>> postings;  // the number of a term, and a document
  };
  std::vector<Field> fields_;
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
  Segment segment{name, static_cast<std::int32_t>(documents.size()), {}};
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
    inverted.add(source.terms_of(text));
    inverted.finish_document();
    ids.emplace_back(id);
  }
  files["fdt"] = stored.documents().finish();
  files["fdx"] = stored.index().finish();
  files["fnm"] = fields.write(file("fnm"));
  const auto texts = declared_texts(fields.metadata.declared, documents, source);

  FileOutput norms(file("nrm"));
  norms.bytes(kNormsHeader);
  const auto add_lengths = [&](const Inverted& analyzed) {
    norms.bytes(analyzed.length_bytes());
    segment.counts.push_back(analyzed.counts());
  };
  add_lengths(inverted);
  for (const auto& text : texts) {
    if (text) add_lengths(*text);
  }
  files["nrm"] = norms.finish();

  PostingsWriter postings(file("frq"), file("prx"), segment.documents);
  TermDictionaryWriter dictionary(file("tis"), file("tii"));
  DeclaredPostings declared(fields.metadata.declared, documents);
  for (const std::uint32_t field : fields.indexed()) {
    if (field == fields.contents_number) {
      inverted.write(field, postings, dictionary);
    } else if (field == fields.id_number) {
      write_ids(field, ids, postings, dictionary);
    } else if (const std::size_t i = field - fields.declared_number(0); texts[i]) {
      texts[i]->write(field, postings, dictionary);
    } else {
      declared.write(i, field, postings, dictionary);
    }
  }
  std::tie(files["frq"], files["prx"]) = postings.finish();
  std::tie(files["tis"], files["tii"]) = dictionary.finish();
  const FileSum sums = write_block_sums(file(kBlockSums), files);
  files[kBlockSums] = sums;
  return segment;
}

}  // namespace relucent::segment
