#include "plugin/lucene/bm25/field_models.h"

#include <algorithm>
#include <utility>

#include "plugin/lucene/index/sidecar.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {

FieldModels::FieldModels(Index index, const IndexConfig& fields, const ScoringSettings& settings)
    : index_(std::move(index)),
      settings_(settings),
      configured_{to_lucene(fields.contents_field), to_lucene(fields.id_field), to_lucene(fields.text_field)},
      absent_(without_lengths({})) {
  for (const auto& name : index_.reader->getFieldNames(Lucene::IndexReader::FIELD_OPTION_INDEXED))
    indexed_.insert(name);
}

std::shared_ptr<const FieldModel> FieldModels::model(const Lucene::String& field) {
  if (!indexed_.contains(field)) return absent_;
  const std::shared_ptr<Entry> found = entry(field);
  const std::lock_guard lock(found->mutex);
  if (!found->model) found->model = make(field);
  return found->model;
}

std::shared_ptr<const FieldModel> FieldModels::model(const Lucene::String& field, const FieldStatistics& totals) {
  const std::shared_ptr<const FieldModel> own = model(field);
  if (own->statistics() == totals) return own;
  if (!indexed_.contains(field)) return std::make_shared<const FieldModel>(*own, totals);
  const std::shared_ptr<Entry> found = entry(field);
  const std::lock_guard lock(found->mutex);
  if (!found->of_collection || found->of_collection->statistics() != totals) {
    found->of_collection = std::make_shared<const FieldModel>(*own, totals);
  }
  return found->of_collection;
}

std::shared_ptr<FieldModels::Entry> FieldModels::entry(const Lucene::String& field) {
  const std::lock_guard lock(mutex_);
  if (!configured_.contains(field)) {
    others_.remove(field);
    others_.push_front(field);
    if (others_.size() > kOtherFields) {
      entries_.erase(others_.back());
      others_.pop_back();
    }
  }
  auto& entry = entries_[field];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

std::shared_ptr<const FieldModel> FieldModels::without_lengths(const FieldStatistics& statistics) const {
  const auto made = std::make_shared<FieldModel>(statistics, settings_);
  for (const auto& leaf : index_.leaves) made->add_norms(leaf, {});
  return made;
}

std::shared_ptr<const FieldModel> FieldModels::make(const Lucene::String& field) const {
  if (index_.ours) {
    const std::string name = to_utf8(field);
    const IndexBuilder::Totals& totals = index_.ours->totals;
    if (name == index_.ours->fields.contents_field) {
      const auto made =
          std::make_shared<FieldModel>(FieldStatistics{totals.documents_with_tokens, totals.tokens}, settings_);
      for (const auto& leaf : index_.leaves) made->add_norms(leaf, leaf->norms(field));
      return made;
    }
    if (name == index_.ours->fields.id_field) return without_lengths({totals.documents, totals.documents});
  }
  FieldLengths lengths = lengths_of(field);
  const auto made = std::make_shared<FieldModel>(lengths.statistics, settings_);
  const bool norms = std::ranges::any_of(index_.leaves, [&](const auto& leaf) { return leaf->hasNorms(field); });
  for (std::size_t i = 0; i < index_.leaves.size(); ++i) {
    made->add_lengths(index_.leaves[i], norms ? std::move(lengths.leaves[i]) : std::vector<std::uint8_t>());
  }
  return made;
}

FieldLengths FieldModels::lengths_of(const Lucene::String& field) const {
  if (index_.folder.empty() || !configured_.contains(field)) return count_lengths(index_.leaves, field);
  std::string identity;
  try {
    identity = index_identity(index_.folder, index_.leaves);
  } catch (const Error&) {
    // A writer has removed files that the reader still holds open.
  }
  if (identity.empty()) return count_lengths(index_.leaves, field);
  const Sidecar sidecar(index_.folder, to_utf8(field), identity);
  if (auto kept = sidecar.read(index_.leaves); kept && fits(*kept)) return std::move(*kept);
  FieldLengths counted = count_lengths(index_.leaves, field);
  sidecar.write(counted);
  return counted;
}

bool FieldModels::fits(const FieldLengths& lengths) const {
  return std::ranges::equal(lengths.leaves, index_.leaves, [](const auto& bytes, const auto& leaf) {
    return bytes.size() == static_cast<std::size_t>(leaf->maxDoc());
  });
}

}  // namespace relucent::bm25
