#include "index/writer.h"

#include <FieldInvertState.h>
#include <SegmentInfo.h>
#include <SegmentInfos.h>
#include <SegmentReader.h>

#include "relucent/stored_text.h"

namespace relucent {

Writer::Writer(const Lucene::DirectoryPtr& directory_, const Lucene::AnalyzerPtr& analyzer_, bool create_)
    : IndexWriter(directory_, analyzer_, create_, MaxFieldLengthUNLIMITED) {}

void Writer::flush_segments() { flush(true, true, true); }

std::string Writer::identity() const {
  std::string identity;
  for (std::int32_t i = 0; i < segmentInfos->size(); ++i) {
    const auto info = segmentInfos->info(i);
    identity += to_utf8(info->name) + ':' + std::to_string(info->docCount) + ' ';
  }
  return identity;
}

Lucene::DocumentPtr Writer::read_last_document() const {
  if (segmentInfos->size() == 0) return {};
  constexpr std::int32_t kNoTermIndex = -1;
  const auto segment =
      Lucene::SegmentReader::get(true, segmentInfos->info(segmentInfos->size() - 1), kNoTermIndex);
  const auto document = segment->document(segment->maxDoc() - 1, Lucene::FieldSelectorPtr());
  segment->close();
  return document;
}

double CountingSimilarity::computeNorm(const Lucene::String& field, const Lucene::FieldInvertStatePtr& state) {
  if (field == field_) {
    documents_with_tokens += state->getLength() > 0 ? 1 : 0;
    tokens += state->getLength();
  }
  return BM25Similarity::computeNorm(field, state);
}

}  // namespace relucent
