#include "plugin/lucene/bm25/field_models.h"

#include <algorithm>
#include <utility>

#include "plugin/lucene/index/sidecar.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {

FieldModels::FieldModels(Index index, std::set<Lucene::String> configured, const ScoringSettings& settings)
    : index_(std::move(index)), settings_(settings), configured_(std::move(configured)), absent_(without_lengths({})) {
  if (index_.ours) {
    for (const std::string& name : index_.ours->fields.analyzed_fields) configured_.insert(to_lucene(name));
  }
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
    if (const auto totals = recorded_totals(name)) {
      const auto made = std::make_shared<FieldModel>(*totals, settings_);
      for (const auto& leaf : index_.leaves) made->add_norms(leaf, leaf->norms(field));
      return made;
    }
    const std::int64_t documents = index_.ours->totals.documents;
    if (name == index_.ours->fields.id_field) return without_lengths({documents, documents});
  }
  FieldLengths lengths = lengths_of(field);
  const auto made = std::make_shared<FieldModel>(lengths.statistics, settings_);
  const bool norms = std::ranges::any_of(index_.leaves, [&](const auto& leaf) { return leaf->hasNorms(field); });
  for (std::size_t i = 0; i < index_.leaves.size(); ++i) {
    made->add_lengths(index_.leaves[i], norms ? std::move(lengths.leaves[i]) : std::vector<std::uint8_t>());
  }
  return made;
}

/// What our own index records of an analyzed field.
std::optional<FieldStatistics> FieldModels::recorded_totals(const std::string& field) const {
  const CommitData& ours = *index_.ours;
  if (field == ours.fields.contents_field) {
    return FieldStatistics{ours.totals.documents_with_tokens, ours.totals.tokens};
  }
  const auto& names = ours.fields.analyzed_fields;
  const auto found = std::ranges::find(names, field);
  if (found == names.end()) return std::nullopt;
  return ours.analyzed[static_cast<std::size_t>(found - names.begin())];
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
