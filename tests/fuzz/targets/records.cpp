// Files of records with their checksums recomputed, and the records in them: embeddings, vectors of late interaction,
// and graphs. An input is "KIND\n", then the file; of kind "graph", the settings and, after a NUL byte, the record.
#include <algorithm>
#include <vector>

#include "base/checksum.h"
#include "model/graphs/document_graph.h"
#include "plugin/index_format/records/records_format.h"
#include "plugin/index_format/records/segment_records.h"
#include "plugin/second_stage/embeddings.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/embedding_numbers.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/text_input.h"

namespace relucent::fuzz {
namespace {

/// Makes every checksum that a reader looks at the right one, as far as the header allows to find it.
std::string with_right_checksums(std::string file) {
  namespace format = records;
  constexpr std::size_t fixed = 16 + 8;
  if (file.size() < fixed) return file;
  file.replace(0, format::kMagic.size(), format::kMagic);
  const std::uint64_t size = format::get32(file, format::kMagic.size() + 4);
  const auto set_sum = [&](std::uint64_t at, std::uint64_t sum) {
    std::string bytes;
    format::put64(bytes, sum);
    file.replace(at, bytes.size(), bytes);
  };
  if (size < fixed + 8 || size > file.size()) return file;
  set_sum(size - 8, checksum(std::string_view(file).substr(0, size - 8)));
  std::string problem;
  const auto header = format::read_header(file, problem);
  if (!header) return file;
  std::uint64_t at = size;
  for (std::uint32_t document = 0; document < std::min(header->header.segment.documents, 1000U); ++document) {
    if (file.size() - at < format::kRecordFrame) break;
    const std::uint32_t length = format::get32(file, at);
    const bool skipped = length == format::kSkipped;
    const std::uint64_t room = header->header.record_bytes != 0 ? header->header.record_bytes : skipped ? 0 : length;
    if (room > file.size() - at - format::kRecordFrame) break;
    std::string record;
    if (skipped || length <= room) {
      const auto bytes = std::string_view(file).substr(at + 4, skipped ? 0 : length);
      format::put_record(record, header->header, header->sum, document, skipped ? std::nullopt : std::optional(bytes));
      if (record.size() == room + format::kRecordFrame) file.replace(at, record.size(), record);
    }
    at += room + format::kRecordFrame;
  }
  if (header->header.record_bytes == 0 && file.size() >= at + 16) {  // the places, which have a checksum of their own
    set_sum(file.size() - 16, checksum(std::string_view(file).substr(at, file.size() - 16 - at)));
  }
  if (file.size() >= size + 8) set_sum(file.size() - 8, format::end_mark(header->sum, file.size()));
  return file;
}

template <typename Use>
void read_records_file(std::string_view bytes, const RecordsKind& kind, const Use& use) {
  const std::string file = with_right_checksums(std::string(bytes));
  const auto path = scratch_file("relucent-_1." + std::string(kind.name), file);
  answer_or_error([&] {
    const auto records = SegmentRecords::open_file(path, kind);
    if (!file.starts_with(records::header_bytes(records->header(), kind))) report("a header that changes");
    answer_or_error([&] { SegmentRecords::open(scratch(), kind, records->header().segment); });
    answer_or_error([&] { records->check_all(); });
    answer_or_error([&] { records->record(records->header().segment.documents); });
    use(*records, [&](const auto& read) {
      for (std::uint32_t i = 0; i < std::min(records->header().segment.documents, 20U); ++i) {
        answer_or_error([&] {
          if (const auto record = records->record(i); record && !record->empty()) read(*record);
        });
      }
    });
  });
}

void read_embeddings(std::string_view bytes) {
  read_records_file(bytes, kEmbeddings, [](const SegmentRecords& records, const auto& each) {
    const EmbeddingForm form = form_of(records);
    const auto hidden = static_cast<std::size_t>(form.shape.hidden);
    each([&](const std::string& record) {
      const std::size_t vector = stored_size(form.numbers, hidden);
      if (vector == 0 || record.size() % vector != 0 || record.size() > (1U << 20)) return;
      std::vector<float> numbers(record.size() / vector * hidden);
      load_vectors(form.numbers, hidden, record, numbers);
    });
  });
}

/// The graph of a record, which must be one of a document.
DocumentGraph graph_of(const GraphSettings& settings, std::string_view record) {
  DocumentGraph graph = decode_graph(settings, record, "graph");
  std::int32_t end = 0;
  for (const Mention& mention : graph.mentions) {
    if (mention.first < end || mention.size < 1 || mention.size > graph.pieces - mention.first) {
      report("a mention outside its document");
    }
    end = mention.first + mention.size;
  }
  if (graph.sentence_starts.size() != static_cast<std::size_t>(graph.pieces)) report("another number of pieces");
  return graph;
}

void read_graph(std::string_view settings, std::string_view record) {
  answer_or_error([&] {
    const GraphOrigin origin = from_settings(settings);
    if (from_settings(to_settings(origin)) != origin) report("settings that change");
    if (difference(origin, origin)) report("settings that are not like themselves");
    difference(origin, {{"record", "1"}, {"passage_window", "64"}});
    const GraphSettings read = settings_in(origin, "settings");
    const DocumentGraph graph = graph_of(read, record);
    pivot_graphs(read, graph);
    const std::string again = encode_graph(read, graph);
    if (encode_graph(read, decode_graph(read, again, "again")) != again) report("a graph that changes");
  });
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_TARGET(records) {
  const auto [kind, rest] = at_first_line(input);
  if (kind == "embeddings") {
    read_embeddings(rest);
  } else if (kind == "graphs") {
    read_records_file(rest, kGraphRecords, [](const SegmentRecords& records, const auto& each) {
      const GraphSettings settings = settings_in(from_settings(records.header().settings), "settings");
      each([&](const std::string& record) { pivot_graphs(settings, graph_of(settings, record)); });
    });
  } else if (kind == "graph") {
    const auto [settings, record] = at_first_nul(rest);
    read_graph(settings, record);
  }
}
