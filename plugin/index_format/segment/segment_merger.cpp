#include "plugin/index_format/segment/segment_merger.h"

#include <algorithm>
#include <cstdint>
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
      merged_.documents += source.documents;
      merged_.documents_with_tokens += source.documents_with_tokens;
      merged_.tokens += source.tokens;
    }
  }

  Segment run() {
    merge_stored_fields();
    merge_norms();
    merged_.files["fnm"] = fields_.write(file("fnm"));
    merge_terms();
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
      const std::int64_t shift = stored.documents().position() - documents.position();
      for (std::int32_t i = 0; i < source.documents; ++i) stored.index().int64(index.int64() + shift);
      copy_rest(documents, stored.documents());
      documents.finish();
      index.finish();
    }
    merged_.files["fdt"] = stored.documents().finish();
    merged_.files["fdx"] = stored.index().finish();
  }

  void merge_norms() {
    FileOutput norms(file("nrm"));
    for (const Segment& source : sources_) {
      FileInput from = open(source, "nrm");
      if (norms.position() == 0) {
        from.copy(norms, kNormsHeaderBytes);
      } else {
        from.skip(kNormsHeaderBytes);
      }
      copy_rest(from, norms);
      from.finish();
    }
    merged_.files["nrm"] = norms.finish();
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
      const bool with_frequencies = field == fields_.contents_number;
      postings.start_term(with_frequencies);
      check();
      while (!next.empty()) {
        const std::size_t i = next.top();
        Terms& source = *terms[i];
        if (source.dictionary.field() != field || source.dictionary.text() != text) break;
        next.pop();
        copy_postings(source, with_frequencies, first_document_[i], sources_[i].documents, postings);
        if (next_term(source)) next.push(i);
      }
      dictionary.add(field, text, postings.finish_term());
    }
    for (const auto& source : terms) {
      source->dictionary.finish();
      source->frequencies.finish();
      source->positions.finish();
    }
    std::tie(merged_.files["frq"], merged_.files["prx"]) = postings.finish();
    std::tie(merged_.files["tis"], merged_.files["tii"]) = dictionary.finish();
  }

  void copy_postings(Terms& source, bool with_frequencies, std::int32_t first_document, std::int32_t documents,
                     PostingsWriter& postings) const {
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
      postings.add_document(first_document + static_cast<std::int32_t>(document), static_cast<std::int32_t>(frequency));
      if (with_frequencies) source.positions.copy_numbers(postings.positions(), frequency);
    }
  }

  const std::filesystem::path& folder_;
  const Fields& fields_;
  const std::vector<Segment>& sources_;
  const std::atomic<bool>& cancelled_;
  std::vector<std::int32_t> first_document_;  // [sources], in the merged segment
  Segment merged_;
};

}  // namespace

Segment merge_segments(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                       const std::vector<Segment>& sources, const std::atomic<bool>& cancelled) {
  return Merge(folder, name, fields, sources, cancelled).run();
}

}  // namespace relucent::segment
