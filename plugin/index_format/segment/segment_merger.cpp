#include "plugin/index_format/segment/segment_merger.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <tuple>

#include "plugin/index_format/segment/file_input.h"
#include "plugin/index_format/segment/postings_writer.h"
#include "plugin/index_format/segment/stored_fields.h"
#include "plugin/index_format/segment/term_dictionary.h"

namespace relucent::segment {
namespace {

constexpr std::int64_t kNormsHeaderBytes = 4;
constexpr std::int64_t kPiece = 1 << 20;  // bytes copied between checks for cancellation

class Merge {
 public:
  Merge(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
        const std::vector<Segment>& sources, const std::atomic<bool>& cancelled)
      : folder_(folder), fields_(fields), sources_(sources), cancelled_(cancelled) {
    merged_.name = name;
    for (const Segment& source : sources) {
      first_document_.push_back(merged_.documents);
      new_numbers_.push_back(source.deletions ? source.deletions->new_numbers(merged_.documents)
                                              : std::vector<std::int32_t>());
      merged_.documents += source.documents - source.deleted();
      dropped_.documents += source.deleted();
      add_counts(merged_.counts, source.counts);
    }
    dropped_.counts.resize(fields.analyzed().size());
    dropped_with_tokens_.resize(fields.analyzed().size());
  }

  const Dropped& dropped() const { return dropped_; }

  Segment run() {
    merge_stored_fields();
    merge_norms();
    merged_.files["fnm"] = fields_.write(file("fnm"));
    merge_terms();
    count_dropped();
    const FileSum sums = write_block_sums(file(kBlockSums), merged_.files);
    merged_.files[kBlockSums] = sums;
    return std::move(merged_);
  }

 private:
  std::filesystem::path file(const char* extension) const { return file_of(folder_, merged_.name, extension); }
  FileInput open(const Segment& source, const char* extension) const {
    return {file_of(folder_, source.name, extension), source.files.at(extension)};
  }
  void check() const {
    if (cancelled_) throw Cancelled();
  }
  void copy_rest(FileInput& from, FileOutput& to) const {
    while (from.left() > 0) {
      check();
      from.copy(to, std::min(from.left(), kPiece));
    }
  }

  void merge_stored_fields() {
    StoredFieldsWriter stored(file("fdt"), file("fdx"));
    for (const Segment& source : sources_) {
      FileInput documents = open(source, "fdt"), index = open(source, "fdx");
      documents.skip(StoredFieldsWriter::kHeader);
      index.skip(StoredFieldsWriter::kHeader);
      if (source.deletions) {
        copy_live_documents(source, documents, index, stored);
      } else {
        const std::int64_t shift = stored.documents().position() - documents.position();
        for (std::int32_t i = 0; i < source.documents; ++i) stored.index().int64(index.int64() + shift);
        copy_rest(documents, stored.documents());
      }
      documents.finish();
      index.finish();
    }
    merged_.files["fdt"] = stored.documents().finish();
    merged_.files["fdx"] = stored.index().finish();
  }

  void copy_live_documents(const Segment& source, FileInput& documents, FileInput& index,
                           StoredFieldsWriter& stored) const {
    const std::int64_t end = documents.position() + documents.left();
    std::int64_t start = source.documents > 0 ? index.int64() : end;
    if (start != documents.position()) index.damaged("the first document is not where the file begins");
    for (std::int32_t i = 0; i < source.documents; ++i) {
      if ((i & 0xFFF) == 0xFFF) check();
      const std::int64_t next = i + 1 < source.documents ? index.int64() : end;
      if (next < start || next > end) index.damaged("a document's offset is out of range");
      if (source.deletions->contains(i)) {
        documents.skip(next - start);
      } else {
        stored.start_document();
        documents.copy(stored.documents(), next - start);
      }
      start = next;
    }
  }

  /// A file has the length bytes of one analyzed field after the other, so all sources stay open.
  void merge_norms() {
    FileOutput norms(file("nrm"));
    std::vector<std::unique_ptr<FileInput>> inputs;
    for (const Segment& source : sources_) {
      FileInput& from = *inputs.emplace_back(
          std::make_unique<FileInput>(file_of(folder_, source.name, "nrm"), source.files.at("nrm")));
      if (norms.position() == 0) {
        from.copy(norms, kNormsHeaderBytes);
      } else {
        from.skip(kNormsHeaderBytes);
      }
      if (from.left() != source.documents * static_cast<std::int64_t>(fields_.analyzed().size())) {
        from.damaged("does not have one length per document and field");
      }
    }
    for (std::size_t field = 0; field < fields_.analyzed().size(); ++field) {
      for (std::size_t i = 0; i < sources_.size(); ++i) copy_lengths(sources_[i], *inputs[i], norms);
    }
    for (const auto& from : inputs) from->finish();
    merged_.files["nrm"] = norms.finish();
  }

  void copy_lengths(const Segment& source, FileInput& from, FileOutput& norms) const {
    if (!source.deletions) {
      for (std::int64_t left = source.documents; left > 0;) {
        check();
        const std::int64_t piece = std::min(left, kPiece);
        from.copy(norms, piece);
        left -= piece;
      }
      return;
    }
    for (std::int32_t i = 0; i < source.documents; ++i) {
      const std::uint8_t length = from.byte();
      if (!source.deletions->contains(i)) norms.byte(length);
    }
  }

  /// One source's terms, and its postings up to its current term.
  struct Terms {
    Terms(const Merge& merge, const Segment& source)
        : dictionary(file_of(merge.folder_, source.name, "tis"), source.files.at("tis")),
          frequencies(file_of(merge.folder_, source.name, "frq"), source.files.at("frq")),
          positions(file_of(merge.folder_, source.name, "prx"), source.files.at("prx")) {}
    TermDictionaryReader dictionary;
    FileInput frequencies, positions;
    std::size_t place = 0;  ///< of its field in the dictionary
  };

  /// Where a field comes in the dictionary.
  std::size_t place_of(std::uint32_t field) const {
    return static_cast<std::size_t>(std::ranges::find(fields_.indexed(), field) - fields_.indexed().begin());
  }
  /// False at the end.
  bool next_term(Terms& source) const {
    if (!source.dictionary.next()) return false;
    source.place = place_of(source.dictionary.field());
    if (source.place == fields_.indexed().size()) source.frequencies.damaged("belongs to terms of an unknown field");
    return true;
  }

  void merge_terms() {
    std::vector<std::unique_ptr<Terms>> terms;
    for (const Segment& source : sources_) terms.push_back(std::make_unique<Terms>(*this, source));
    const auto later = [&](std::size_t a, std::size_t b) {
      if (terms[a]->place != terms[b]->place) return terms[a]->place > terms[b]->place;
      const int order = terms[a]->dictionary.text().compare(terms[b]->dictionary.text());
      return order != 0 ? order > 0 : a > b;
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (next_term(*terms[i])) next.push(i);
    }
    PostingsWriter postings(file("frq"), file("prx"), merged_.documents);
    TermDictionaryWriter dictionary(file("tis"), file("tii"));
    std::string text;
    while (!next.empty()) {
      const std::uint32_t field = terms[next.top()]->dictionary.field();
      text = terms[next.top()]->dictionary.text();
      const auto analyzed = std::ranges::find(fields_.analyzed(), field);
      const bool with_frequencies = analyzed != fields_.analyzed().end();
      analyzed_ = static_cast<std::size_t>(analyzed - fields_.analyzed().begin());
      postings.start_term(with_frequencies);
      check();
      while (!next.empty()) {
        const std::size_t i = next.top();
        Terms& source = *terms[i];
        if (source.dictionary.field() != field || source.dictionary.text() != text) break;
        next.pop();
        copy_postings(i, source, with_frequencies, postings);
        if (next_term(source)) next.push(i);
      }
      const TermInfo info = postings.finish_term();
      if (info.document_frequency > 0) dictionary.add(field, text, info);
    }
    for (const auto& source : terms) {
      source->dictionary.finish();
      source->frequencies.finish();
      source->positions.finish();
    }
    std::tie(merged_.files["frq"], merged_.files["prx"]) = postings.finish();
    std::tie(merged_.files["tis"], merged_.files["tii"]) = dictionary.finish();
  }

  void copy_postings(std::size_t number, Terms& source, bool with_frequencies, PostingsWriter& postings) {
    const std::vector<std::int32_t>& new_numbers = new_numbers_[number];
    const std::int32_t first_document = first_document_[number], documents = sources_[number].documents;
    const TermInfo& info = source.dictionary.info();
    FileInput& from = source.frequencies;
    // The skip list of the previous term lies in between.
    if (info.frequencies < from.position() || info.positions != source.positions.position()) {
      from.damaged("postings are not at the offset recorded in the term dictionary");
    }
    from.skip(info.frequencies - from.position());
    std::uint64_t document = 0;
    for (std::int32_t i = 0; i < info.document_frequency; ++i) {
      if ((i & 0xFFFF) == 0xFFFF) check();
      const std::uint64_t code = from.number();
      std::uint64_t frequency = 1;
      if (with_frequencies) {
        document += code >> 1;
        if ((code & 1) == 0) frequency = from.number();
      } else {
        document += code;
      }
      if (document >= static_cast<std::uint64_t>(documents)) from.damaged("a postings list is damaged");
      const std::int32_t merged_document = new_numbers.empty() ? first_document + static_cast<std::int32_t>(document)
                                                               : new_numbers[static_cast<std::size_t>(document)];
      if (merged_document < 0) {
        if (with_frequencies) drop_posting(number, static_cast<std::size_t>(document), frequency, source.positions);
        continue;
      }
      postings.add_document(merged_document, static_cast<std::int32_t>(frequency));
      if (with_frequencies) source.positions.copy_numbers(postings.positions(), frequency);
    }
  }

  void drop_posting(std::size_t number, std::size_t document, std::uint64_t frequency, FileInput& positions) {
    positions.skip_numbers(frequency);
    dropped_.counts[analyzed_].sum_total_term_freq += static_cast<std::int64_t>(frequency);
    std::vector<bool>& with_tokens = dropped_with_tokens_[analyzed_][number];
    if (with_tokens.empty()) with_tokens.resize(static_cast<std::size_t>(sources_[number].documents));
    with_tokens[document] = true;
  }

  void count_dropped() {
    for (std::size_t field = 0; field < dropped_with_tokens_.size(); ++field) {
      for (const auto& [number, with_tokens] : dropped_with_tokens_[field]) {
        dropped_.counts[field].document_count += std::count(with_tokens.begin(), with_tokens.end(), true);
      }
    }
  }

  const std::filesystem::path& folder_;
  const Fields& fields_;
  const std::vector<Segment>& sources_;
  const std::atomic<bool>& cancelled_;
  std::vector<std::int32_t> first_document_;            // [sources], in the merged segment
  std::vector<std::vector<std::int32_t>> new_numbers_;  // [sources, documents]; empty for a source without deletions
  std::vector<std::map<std::size_t, std::vector<bool>>> dropped_with_tokens_;  // [analyzed], by source: [documents]
  std::size_t analyzed_ = 0;  // the place of the current term's field among the analyzed ones
  Dropped dropped_;
  Segment merged_;
};

}  // namespace

Segment merge_segments(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                       const std::vector<Segment>& sources, const std::atomic<bool>& cancelled, Dropped* dropped) {
  Merge merge(folder, name, fields, sources, cancelled);
  Segment merged = merge.run();
  if (dropped != nullptr) *dropped = merge.dropped();
  return merged;
}

}  // namespace relucent::segment
