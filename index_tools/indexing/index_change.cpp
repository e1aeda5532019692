#include "index_tools/indexing/index_change.h"

#include <fmt/core.h>

#include "index_tools/indexing/manifest.h"
#include "index_tools/indexing/origin.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/progress_record.h"
#include "relucent/error.h"
#include "relucent/index_files.h"

namespace relucent::index_tools {
namespace {

/// Takes what every document of the index has.
void adopt(const IndexFiles& files, IndexBuilder::Options& options) {
  if (!files.analyzer) return;  // another program's index, which the builder refuses
  const auto language = options.fields.language;
  options.fields.id_field = files.fields.id_field;
  options.fields.text_field = files.fields.text_field;
  options.fields.contents_field = files.fields.contents_field;
  if (!language) options.first_stage.analyzer = *files.analyzer;
}

}  // namespace

IndexChange::IndexChange(const std::filesystem::path& index, IndexBuilder::Options options) : index_(index) {
  adopt(index_files(index_), options);
  own_ = origin_of(index_) == Origin::own;
  builder_ = IndexBuilder::open(index_, IndexBuilder::Mode::append, options);
  recovered_ = builder_->recovered();
  user_data_ = builder_->committed();
  totals_ = builder_->totals();
  counts_.documents = totals_.documents - totals_.deleted;
  if (!user_data_.contains(kProgressKey)) return;
  ProgressRecord record = progress_record_from(user_data_, index_.string());
  if (!record.complete) {
    throw Error(ErrorKind::usage, index_.string(),
                fmt::format("indexing is unfinished after {} documents", with_commas(record.documents)),
                "finish it with `relucent index ... --resume` first");
  }
  record.updated = true;
  user_data_[kProgressKey] = to_user_data(record).at(kProgressKey);
}

void IndexChange::put(std::string_view id, std::string_view text, std::string_view metadata) {
  remove(id);
  builder_->add(id, text, metadata);
}

void IndexChange::remove(std::string_view id) {
  builder_->remove(id);
  pending_ = true;
}

void IndexChange::commit() {
  if (!pending_) return;
  remove_manifest(index_);  // it would describe an older state
  builder_->commit(user_data_);
  pending_ = false;
  totals_ = builder_->totals();
  counts_.last = builder_->removals();
  counts_.documents = totals_.documents - totals_.deleted;
  counts_.removed += counts_.last.documents;
  counts_.unknown_ids += counts_.last.unknown_ids;
}

void IndexChange::close() {
  commit();
  remove_manifest(index_);
  builder_->close();
  totals_ = builder_->totals();
  if (own_) write_manifest(index_, make_manifest(index_));
}

}  // namespace relucent::index_tools
