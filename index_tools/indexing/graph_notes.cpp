#include "index_tools/indexing/graph_notes.h"

#include <LuceneHeaders.h>

#include "index_tools/indexing/document_notes.h"
#include "index_tools/indexing/query_log.h"
#include "plugin/lucene/errors.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"
#include "relucent/threads.h"

namespace relucent::index_tools {
namespace {

class Notes final : public TextNotes {
 public:
  Notes(const GraphNotesJob& job, const std::filesystem::path& index, const Config& config, int threads, bool quiet,
        const StopSignal& stop)
      : origins_(job.origins()), id_field_(to_lucene(config.index.id_field)) {
    if (job.weights == GraphNotesJob::Weights::file) weights_.emplace(job.weights_file, stop);
    if (!job.entities_file.empty()) entities_.emplace(job.entities_file, stop);
    if (job.weights != GraphNotesJob::Weights::query_log) return;
    reader_ = open_reader(index, config.index.verify);
    log_ = search_query_log(job, reader_, config_of_index(reader_, config), index.string(),
                            threads > 0 ? threads : available_cores(), quiet, stop);
  }

  std::optional<TermWeights> weights_of(std::string_view id) const override {
    if (weights_) return weights_->of(id);
    if (!reader_) return std::nullopt;
    return with_errors("weights", "looking up a document", [&]() -> std::optional<TermWeights> {
      const auto found = reader_->termDocs(Lucene::newLucene<Lucene::Term>(id_field_, to_lucene(id)));
      if (!found->next() || log_.queries(found->doc()) == 0) return std::nullopt;
      return log_.weights(found->doc());
    });
  }
  std::vector<EntityPlace> entities_of(std::string_view id) const override {
    return entities_ ? entities_->of(id) : std::vector<EntityPlace>();
  }
  GraphOrigins origins() const override { return origins_; }

 private:
  GraphOrigins origins_;
  Lucene::String id_field_;
  std::optional<WeightNotes> weights_;
  std::optional<EntityNotes> entities_;
  Lucene::IndexReaderPtr reader_;  // null without a log
  QueryLogWeights log_;
};

}  // namespace

GraphOrigins GraphNotesJob::origins() const {
  return {weights == Weights::tfidf       ? GraphOrigins::kTfidf
          : weights == Weights::query_log ? GraphOrigins::kQueryLog
                                          : GraphOrigins::kFile,
          !entities_file.empty()};
}

std::shared_ptr<const TextNotes> open_text_notes(const GraphNotesJob& job, const std::filesystem::path& index,
                                                 const Config& config, int threads, bool quiet,
                                                 const StopSignal& stop) {
  return with_errors(index.string(), "reading the notes of texts",
                     [&] { return std::make_shared<const Notes>(job, index, config, threads, quiet, stop); });
}

}  // namespace relucent::index_tools
