#include "index_tools/program/index_writer.h"

#include <optional>
#include <utility>

#include "index_tools/indexing/index_change.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "relucent/model/cross_encoder.h"

namespace relucent::program {
namespace {

using index_tools::IndexChange;

class IndexWriter final : public server::DocumentWriter {
 public:
  IndexWriter(std::filesystem::path index, const Config& config) : index_(std::move(index)) {
    options_.fields = config.index;
    options_.first_stage = config.first_stage;
    options_.metadata = true;
    options_.threads = 2;  // so that requests need not wait for merges
    if (index_files(index_).token_ids) options_.token_ids_of = model_folder(config.rescorer.model);
    change_.emplace(index_, options_);
  }

  ~IndexWriter() override {
    try {
      if (change_) change_->close();
    } catch (const Error&) {  // all that was answered is committed
    }
  }

  Change put(std::span<const server::NewDocument> documents) override {
    return commit([&](IndexChange& change) {
      for (const server::NewDocument& document : documents) change.put(document.id, document.text, document.metadata);
    });
  }

  Change remove(const std::string& id) override {
    return commit([&](IndexChange& change) { change.remove(id); });
  }

 private:
  /// After an error, such as a full disk, the next request begins from the last commit.
  template <typename Step>
  Change commit(const Step& step) {
    if (!change_) change_.emplace(index_, options_);
    try {
      step(*change_);
      change_->commit();
    } catch (...) {
      change_.reset();
      throw;
    }
    const IndexChange::Counts& counts = change_->counts();
    return {counts.last.documents, counts.last.unknown_ids, counts.documents};
  }

  std::filesystem::path index_;
  IndexBuilder::Options options_;
  std::optional<IndexChange> change_;
};

}  // namespace

std::shared_ptr<server::DocumentWriter> open_index_writer(const std::filesystem::path& index, const Config& config) {
  return std::make_shared<IndexWriter>(index, config);
}

}  // namespace relucent::program
