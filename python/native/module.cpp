// The extension module relucent_search._native: thin bindings; the package's Python files are what users call.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/native/candidate_reranker.h"
#include "python/native/interruptible.h"
#include "python/native/jobs.h"
#include "python/native/pair_scorer.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/index_builder.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/search_session.h"
#include "relucent/version.h"

namespace relucent::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

const char* code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::invalid_data: return "invalid_data";
    case ErrorKind::io: return "io";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::device: return "device";
    case ErrorKind::deadline: return "deadline";
    case ErrorKind::interrupted: return "interrupted";
    case ErrorKind::internal: return "internal";
  }
  return "internal";
}

void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const auto text = [](const std::string& bytes) {
      return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
    };
    const nb::object made =
        nb::module_::import_("relucent_search.errors")
            .attr("from_code")(code_of(error.kind()), text(error.place()), text(error.problem()), text(error.remedy()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  }
}

/// A str's UTF-8, without a copy: a view into the str, which `keep` keeps alive. Half of a surrogate pair, which UTF-8
/// cannot hold, becomes U+FFFD.
std::string_view text_of(nb::handle object, nb::list& keep) {
  if (!PyUnicode_Check(object.ptr())) {
    throw nb::type_error(("a text is a str, not " + std::string(nb::type_name(object.type()).c_str())).c_str());
  }
  nb::object text = nb::borrow(object);
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    text = text.attr("encode")("utf-16", "surrogatepass").attr("decode")("utf-16", "replace");
    bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) throw nb::python_error();
  }
  keep.append(text);
  return {bytes, static_cast<std::size_t>(size)};
}

std::vector<std::string_view> texts_of(const nb::sequence& objects, nb::list& keep) {
  std::vector<std::string_view> texts;
  texts.reserve(nb::len(objects));
  for (const nb::handle object : objects) texts.push_back(text_of(object, keep));
  return texts;
}

/// An array that owns the vector's values; they are not copied. The bindings named take_... hand theirs on like this,
/// so each may be called once.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_array(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return {owned->data(), {owned->size()}, owner};
}

nb::dict milliseconds(const StageTimes& times) {
  nb::dict result;
  for (const auto& [name, time] :
       {std::pair{"parse", times.parse}, std::pair{"first_stage", times.first_stage}, std::pair{"fetch", times.fetch},
        std::pair{"tokenize", times.tokenize}, std::pair{"encode", times.encode}, std::pair{"device", times.device},
        std::pair{"combine", times.combine}, std::pair{"passages", times.passages}}) {
    result[name] = in_milliseconds(time);
  }
  return result;
}

/// `__init__` of what the [rescorer] of a profile describes.
template <typename Bound>
void construct(Bound* self, const std::string& toml, const std::string& source) {
  const nb::gil_scoped_release released;
  new (self) Bound(parse_config(toml, source).rescorer);
}

void bind_pair_scorer(nb::module_& module) {
  nb::class_<PairResults>(module, "PairResults", "The scores of pairs; one entry per pair in each array.")
      .def(
          "take_scores", [](PairResults& self) { return to_array(std::move(self.scores)); },
          "Raw scores (float32); NaN for a document that has nothing the model reads.")
      .def(
          "take_tokens", [](PairResults& self) { return to_array(std::move(self.tokens)); },
          "Tokens of the model's input (int32).")
      .def(
          "take_truncated", [](PairResults& self) { return to_array(std::move(self.truncated)); },
          "1 where the model did not see the end of the document (uint8).")
      .def_ro("query_truncated", &PairResults::query_truncated)
      .def_ro("fallback", &PairResults::fallback)
      .def_prop_ro(
          "timings", [](const PairResults& self) { return milliseconds(self.times); }, "Milliseconds.");
  nb::class_<PairScorer>(module, "PairScorer", "A scorer of pairs of texts.")
      .def("__init__", construct<PairScorer>, "toml"_a, "source"_a)
      .def(
          "score",
          [](const PairScorer& self, const nb::sequence& queries, const nb::sequence& documents) {
            nb::list keep;
            const std::vector<std::string_view> query_texts = texts_of(queries, keep);
            const std::vector<std::string_view> document_texts = texts_of(documents, keep);
            if (query_texts.size() != document_texts.size()) throw nb::value_error("as many queries as documents");
            PairResults results;
            run_interruptibly(
                [&](const std::stop_token& stop) { results = self.score(query_texts, document_texts, stop); });
            return results;
          },
          "queries"_a, "documents"_a)
      .def("describe", [](const PairScorer& self) { return self.scorer().describe(); })
      .def("notice", [](const PairScorer& self) { return self.scorer().notice(); })
      .def("warning", [](const PairScorer& self) { return self.scorer().warning(); });
}

void bind_pair_classifier(nb::module_& module) {
  nb::class_<PairClassifier>(module, "PairClassifier", "A classifier of pairs of texts.")
      .def("__init__", construct<PairClassifier>, "toml"_a, "source"_a)
      .def(
          "classify",
          [](const PairClassifier& self, const nb::sequence& queries, const nb::sequence& documents) {
            nb::list keep;
            const std::vector<std::string_view> query_texts = texts_of(queries, keep);
            const std::vector<std::string_view> document_texts = texts_of(documents, keep);
            if (query_texts.size() != document_texts.size()) throw nb::value_error("as many queries as documents");
            std::vector<float> logits;
            run_interruptibly(
                [&](const std::stop_token& stop) { logits = self.classify(query_texts, document_texts, stop); });
            return to_array(std::move(logits));
          },
          "queries"_a, "documents"_a, "The logits (float32) of all labels of each pair, pair by pair.")
      .def_prop_ro("labels", &PairClassifier::labels, "Their names.")
      .def("describe", &PairClassifier::describe);
}

void bind_reranker(nb::module_& module) {
  nb::class_<Reranked>(module, "NativeReranked", "A query's candidates after the second stage.")
      .def("take_order", [](Reranked& self) { return to_array(std::move(self.order)); })
      .def("take_scores", [](Reranked& self) { return to_array(std::move(self.scores)); })
      .def("take_logits", [](Reranked& self) { return to_array(std::move(self.logits)); })
      .def_prop_ro("status", [](const Reranked& self) { return to_string(self.status); })
      .def_ro("degraded", &Reranked::degraded)
      .def_ro("reason", &Reranked::reason)
      .def_ro("truncated", &Reranked::truncated)
      .def_ro("query_truncated", &Reranked::query_truncated)
      .def_prop_ro("timings", [](const Reranked& self) { return milliseconds(self.times); });
  nb::class_<CandidateReranker>(module, "CandidateReranker", "The second stage on candidates without an index.")
      .def("__init__", construct<CandidateReranker>, "toml"_a, "source"_a)
      .def(
          "rerank",
          [](const CandidateReranker& self, const nb::str& query, const nb::sequence& documents,
             const std::optional<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>& scores) {
            nb::list keep;
            const std::string_view text = text_of(query, keep);
            const std::vector<std::string_view> texts = texts_of(documents, keep);
            if (scores && scores->size() != texts.size()) throw nb::value_error("as many scores as documents");
            const std::span<const double> values =
                scores ? std::span(scores->data(), scores->size()) : std::span<const double>();
            Reranked result;
            run_interruptibly([&](const std::stop_token& stop) { result = self.rerank(text, texts, values, stop); });
            return result;
          },
          "query"_a, "documents"_a, "scores"_a.none())
      .def(
          "describe",
          [](const CandidateReranker& self) {
            nb::list lines;
            for (const RescoringStage& stage : self.stages()) lines.append(stage.scorer->describe());
            return nb::str(", then ").attr("join")(lines);
          },
          nb::sig("def describe(self) -> str"))
      .def("warnings", [](const CandidateReranker& self) {
        std::vector<std::string> warnings;
        for (const RescoringStage& stage : self.stages()) warnings.push_back(stage.scorer->warning());
        std::erase(warnings, "");
        return warnings;
      });
}

/// A hit; its texts, and its passage's, count only if they were asked for.
struct Hit : SearchHit {
  bool texts = false;
};

struct Passage : SearchPassage {
  bool texts = false;
};

/// What a search found.
struct Found {
  SearchResult result;
  bool texts = false;
};

Found search(const SearchSession& session, std::string_view query, SearchRequest request, StopSignal signal) {
  request.query = query;
  request.stop = std::move(signal);
  return {session.search(request), request.texts == HitTexts::whole};
}

nb::object json_value(const std::string& text) {
  return nb::module_::import_("json").attr("loads")(nb::str(text.c_str(), text.size()));
}

void bind_hits(nb::module_& module) {
  nb::class_<Passage>(module, "Passage", "The part of a hit's stored text that gave the score.")
      .def_ro("field", &Passage::field, "The stored field.")
      .def_ro("begin", &Passage::begin, "The first byte of the field's text in UTF-8.")
      .def_ro("end", &Passage::end, "One past the last byte.")
      .def_prop_ro(
          "ends_field", [](const Passage& self) { return self.texts ? std::optional(self.ends_field) : std::nullopt; },
          "Whether nothing but white space follows it in its field, if texts were asked for.")
      .def_prop_ro(
          "text", [](const Passage& self) { return self.texts ? std::optional(self.text) : std::nullopt; },
          "The part itself, if texts were asked for.")
      .def("__repr__", [](const Passage& self) {
        return nb::str("Passage(field={!r}, begin={}, end={})").format(self.field, self.begin, self.end);
      });
  nb::class_<Hit>(module, "Hit", "A document that a search found.")
      .def_ro("id", &Hit::id)
      .def_ro("rank", &Hit::rank, "From 1.")
      .def_ro("score", &Hit::score, "The score that the hits are ordered by.")
      .def_ro("first_stage_rank", &Hit::first_stage_rank, "BM25's rank, from 1.")
      .def_ro("first_stage_score", &Hit::first_stage_score, "BM25's score.")
      .def_prop_ro(
          "status", [](const Hit& self) { return to_string(self.status); },
          "rescored, without_text, beyond_window or not_rescored.")
      .def_ro("logit", &Hit::logit,
              "The model's raw score, if the hit was rescored; with several stages the last one's.")
      .def_ro("stage_logits", &Hit::stage_logits, "The raw scores of the stages that scored it, from the first on.")
      .def_ro("truncated", &Hit::truncated, "Whether the model did not see the end of the text.")
      .def_prop_ro(
          "passage",
          [](const Hit& self) {
            return self.passage ? std::optional(Passage{*self.passage, self.texts}) : std::nullopt;
          },
          "The part of the text that gave the score, if it is known.")
      .def_prop_ro(
          "text", [](const Hit& self) { return self.texts ? std::optional(self.text) : std::nullopt; },
          "The stored text, if texts were asked for.")
      .def_prop_ro(
          "fields", [](const Hit& self) { return self.fields.empty() ? nb::none() : json_value(self.fields); },
          nb::sig("def fields(self) -> dict[str, Any] | None"), "The keys of its metadata that were asked for.")
      .def("__repr__", [](const Hit& self) {
        return nb::str("Hit(rank={}, id={!r}, score={})").format(self.rank, self.id, self.score);
      });
}

void bind_searcher(nb::module_& module) {
  bind_hits(module);
  const auto of_result = [](auto member) { return [member](const Found& self) { return self.result.*member; }; };
  nb::class_<Found>(module, "NativeResult", "What a search found.")
      .def(
          "take_hits",
          [](Found& self) {
            nb::list hits;
            for (SearchHit& hit : self.result.hits) hits.append(nb::cast(Hit{std::move(hit), self.texts}));
            self.result.hits.clear();
            return hits;
          },
          nb::sig("def take_hits(self) -> list[Hit]"), "Best first.")
      .def_prop_ro("query", of_result(&SearchResult::query))
      .def_prop_ro("total_hits", of_result(&SearchResult::total_hits))
      .def_prop_ro("total_is_exact", of_result(&SearchResult::total_is_exact))
      .def_prop_ro("status",
                   [](const Found& self) { return self.result.rescoring ? to_string(self.result.status) : ""; })
      .def_prop_ro("degraded", of_result(&SearchResult::degraded))
      .def_prop_ro("reason", of_result(&SearchResult::reason))
      .def_prop_ro("rescored", of_result(&SearchResult::rescored))
      .def_prop_ro("without_text", of_result(&SearchResult::without_text))
      .def_prop_ro("truncated", of_result(&SearchResult::truncated))
      .def_prop_ro("query_truncated", of_result(&SearchResult::query_truncated))
      .def_prop_ro(
          "facets",
          [](const Found& self) {
            nb::dict facets;
            for (const FacetCounts& facet : self.result.facets) {
              nb::dict counts;
              for (const auto& [value, documents] : facet.values) counts[nb::cast(value)] = documents;
              facets[nb::cast(facet.key)] = counts;
            }
            return facets;
          },
          nb::sig("def facets(self) -> dict[str, dict[str, int]]"))
      .def_prop_ro("timings", [](const Found& self) {
        nb::dict times = milliseconds(self.result.times);
        times["total"] = in_milliseconds(self.result.total);
        return times;
      });
  nb::class_<SearchRequest>(module, "SearchRequest", "How queries are answered.")
      .def(
          "__init__",
          [](SearchRequest* self, std::int32_t hits, std::int32_t offset, bool texts, std::string filter,
             std::vector<std::string> facets, std::optional<std::vector<std::string>> fields, bool all_fields,
             std::vector<std::string> search_fields) {
            SearchRequest& request = *new (self) SearchRequest;
            request.hits = hits;
            request.offset = offset;
            request.texts = texts ? HitTexts::whole : HitTexts::none;
            request.filter = std::move(filter);
            request.facets = std::move(facets);
            request.fields = std::move(fields).value_or(std::vector<std::string>());
            request.all_fields = all_fields;
            request.search_fields = std::move(search_fields);
          },
          "k"_a, "offset"_a, "texts"_a, "filter"_a, "facets"_a, "fields"_a, "all_fields"_a, "search_fields"_a);
  nb::class_<StoredDocument>(module, "Document", "A document as the index stores it.")
      .def_ro("id", &StoredDocument::id)
      .def_ro("text", &StoredDocument::text)
      .def_prop_ro(
          "metadata",
          [](const StoredDocument& self) { return self.metadata.empty() ? nb::dict() : json_value(self.metadata); },
          nb::sig("def metadata(self) -> dict[str, Any]"), "What else its record had.")
      .def("__repr__", [](const StoredDocument& self) { return nb::str("Document(id={!r})").format(self.id); });
  nb::class_<SearchSession>(module, "SearchSession", "An index opened for searching.")
      .def(
          "__init__",
          [](SearchSession* self, const std::string& index, const std::string& toml, const std::string& source,
             bool lucene_syntax) {
            const nb::gil_scoped_release released;
            Config config = parse_config(toml, source);
            if (!config.first_stage.count) config.first_stage.count = kCountOfPrograms;
            new (self) SearchSession(index, config, lucene_syntax ? QuerySyntax::lucene : QuerySyntax::words);
          },
          "index"_a, "toml"_a, "source"_a, "lucene_syntax"_a)
      .def(
          "search",
          [](const SearchSession& self, const nb::str& query, const SearchRequest& request) {
            nb::list keep;
            const std::string_view text = text_of(query, keep);
            Found found;
            run_interruptibly([&](const std::stop_token& stop) { found = search(self, text, request, {{}, stop}); });
            return found;
          },
          "query"_a, "request"_a)
      .def(
          "search_all",
          [](const SearchSession& self, const nb::sequence& queries, const SearchRequest& request, int jobs) {
            nb::list keep;
            const std::vector<std::string_view> query_texts = texts_of(queries, keep);
            std::vector<Found> found(query_texts.size());
            run_interruptibly([&](const std::stop_token& stop) {
              run_jobs(query_texts.size(), jobs, stop, [&](std::size_t i, const StopSignal& signal) {
                found[i] = search(self, query_texts[i], request, signal);
              });
            });
            return found;
          },
          "queries"_a, "request"_a, "jobs"_a)
      .def(
          "texts_of",
          [](const SearchSession& self, const std::vector<std::string>& ids) {
            const nb::gil_scoped_release released;
            return self.texts_of({ids.begin(), ids.end()});
          },
          "ids"_a)
      .def(
          "document",
          [](const SearchSession& self, const std::string& id) {
            const nb::gil_scoped_release released;
            return self.document(id);
          },
          "id"_a)
      .def("describe", &SearchSession::scorer)
      .def("notices", &SearchSession::notices);
}

/// An IndexBuilder that can be closed, called by one thread at a time: the others wait, without the interpreter's lock.
class Builder {
 public:
  Builder(const std::string& folder, IndexBuilder::Mode mode, const IndexBuilder::Options& options)
      : builder_(IndexBuilder::open(folder, mode, options)) {}

  /// Calls `use` with the builder.
  template <typename Use>
  auto with(const Use& use) {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    if (!builder_) throw Error(ErrorKind::usage, "IndexBuilder", "is closed", "open another one");
    return use(*builder_);
  }
  void close() {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    if (builder_) builder_->close();
    builder_.reset();
  }
  void abandon() {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    builder_.reset();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<IndexBuilder> builder_;
};

void bind_index_builder(nb::module_& module) {
  nb::class_<Builder>(module, "Builder", "Writes an index.")
      .def(
          "__init__",
          [](Builder* self, const std::string& folder, const std::string& mode, const std::string& toml,
             const std::string& source, double buffer_mb, int threads, const std::string& token_ids_of) {
            const nb::gil_scoped_release released;
            const Config config = parse_config(toml, source);
            IndexBuilder::Options options{config.index, config.first_stage};
            options.buffer_mb = buffer_mb;
            options.threads = threads;
            options.token_ids_of = token_ids_of;
            options.metadata = true;
            using Mode = IndexBuilder::Mode;
            new (self) Builder(folder,
                               mode == "append"      ? Mode::append
                               : mode == "overwrite" ? Mode::overwrite
                                                     : Mode::create,
                               options);
          },
          "folder"_a, "mode"_a, "toml"_a, "source"_a, "buffer_mb"_a, "threads"_a, "token_ids_of"_a)
      .def(
          "add",
          [](Builder& self, const nb::str& id, const nb::str& text, const std::string& metadata) {
            nb::list keep;
            const std::string_view id_text = text_of(id, keep);
            const std::string_view document_text = text_of(text, keep);
            self.with([&](IndexBuilder& builder) { builder.add(id_text, document_text, metadata); });
          },
          "id"_a, "text"_a, "metadata"_a)
      .def(
          "remove",
          [](Builder& self, const nb::str& id) {
            nb::list keep;
            const std::string_view id_text = text_of(id, keep);
            self.with([&](IndexBuilder& builder) { builder.remove(id_text); });
          },
          "id"_a)
      .def("removed",
           [](Builder& self) { return self.with([](auto& builder) { return builder.removals().documents; }); })
      .def("unknown_ids",
           [](Builder& self) { return self.with([](auto& builder) { return builder.removals().unknown_ids; }); })
      .def(
          "commit",
          [](Builder& self, const std::map<std::string, std::string>& data) {
            self.with([&](IndexBuilder& builder) { builder.commit(data); });
          },
          "user_data"_a)
      .def("committed", [](Builder& self) { return self.with([](auto& builder) { return builder.committed(); }); })
      .def("documents",
           [](Builder& self) {
             return self.with([](auto& builder) { return builder.totals().documents - builder.totals().deleted; });
           })
      .def("tokens", [](Builder& self) { return self.with([](auto& builder) { return builder.totals().tokens; }); })
      .def("recovered", [](Builder& self) { return self.with([](auto& builder) { return builder.recovered(); }); })
      .def(
          "merge",
          [](Builder& self, int segments) { self.with([&](IndexBuilder& builder) { builder.merge(segments); }); },
          "segments"_a)
      .def("close", &Builder::close)
      .def("abandon", &Builder::abandon);
}

}  // namespace
}  // namespace relucent::python

NB_MODULE(_native, module) {
  namespace nb = nanobind;
  using namespace nb::literals;
  using namespace relucent;
  nb::register_exception_translator(python::translate);
  module.def(
      "version", [] { return std::string(version()); }, "The library's version.");
  module.def(
      "default_model", [] { return default_model().string(); }, "The bundled checkpoint's folder.");
  module.def(
      "load_config", [](const std::string& file) { return to_toml(load_config(file)); }, "file"_a,
      "A profile with every key's effective value, as TOML.");
  module.def(
      "stated_activation", [](const std::string& model) { return inspect_checkpoint(model).activation; }, "model"_a,
      "What sentence-transformers applies to the logits of this checkpoint.");
  module.def(
      "folder_and_type",
      [](const std::string& model) {
        const CheckpointInfo info = inspect_checkpoint(model);
        return std::pair(info.folder.string(), info.model_type);
      },
      "model"_a, "A checkpoint's folder, and its model_type.");
  module.def(
      "labels", [](const std::string& model) { return inspect_checkpoint(model).labels; }, "model"_a,
      "The names of a classifier's labels; empty: the model scores.");
  python::bind_pair_scorer(module);
  python::bind_pair_classifier(module);
  python::bind_reranker(module);
  python::bind_searcher(module);
  python::bind_index_builder(module);
}
