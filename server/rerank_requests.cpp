#include "server/rerank_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "server/answer.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

std::string checked(const std::string& text, const char* field, std::size_t index, const ServerConfig& limits) {
  if (text.size() > static_cast<std::size_t>(limits.text_bytes)) {
    throw too_much(fmt::format("`{}[{}]` has {} bytes, more than the {} allowed ([server] text_bytes)", field, index,
                               text.size(), limits.text_bytes));
  }
  return text;
}

/// A string, or with `objects` an object with the string "text".
std::string text_of(const Json& value, bool objects, const char* field, std::size_t index, const ServerConfig& limits) {
  if (value.is_string()) return checked(value.get_ref<const std::string&>(), field, index, limits);
  if (objects && value.is_object()) {
    const auto text = value.find("text");
    if (text != value.end() && text->is_string()) {
      return checked(text->get_ref<const std::string&>(), field, index, limits);
    }
    throw not_valid(fmt::format("`{}[{}]` must have a string `text`", field, index));
  }
  throw not_valid(fmt::format("`{}[{}]` must be a string{}, not {}", field, index,
                              objects ? " or an object with `text`" : "", kind_of(value)));
}

std::vector<std::string> texts_of(const Fields& fields, const char* name, bool objects, const ServerConfig& limits) {
  const Json* values = fields.find(name);
  if (values == nullptr) throw not_valid(fmt::format("`{}` is missing", name));
  if (!values->is_array()) {
    throw not_valid(fmt::format("`{}` must be an array of strings, not {}", name, kind_of(*values)));
  }
  if (values->empty()) {
    // 413 is text-embeddings-inference's status; Cohere's clients know 422.
    throw Refusal(objects ? 422 : 413, "Validation", fmt::format("`{}` cannot be empty", name));
  }
  if (values->size() > static_cast<std::size_t>(limits.texts)) {
    throw too_much(fmt::format("batch size {} > maximum allowed batch size {}", values->size(), limits.texts));
  }
  std::vector<std::string> texts;
  for (const Json& value : *values) texts.push_back(text_of(value, objects, name, texts.size(), limits));
  return texts;
}

bool is_left(const Fields& fields) {
  const Json* value = fields.find("truncation_direction");
  if (value == nullptr) return false;
  if (value->is_string()) {
    const auto& direction = value->get_ref<const std::string&>();
    if (direction == "left" || direction == "Left") return true;
    if (direction == "right" || direction == "Right") return false;
  }
  throw not_valid("`truncation_direction` must be \"left\" or \"right\"");
}

std::vector<std::size_t> best_first(const RerankScores& scores) {
  std::vector<std::size_t> order(scores.scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores.scores[a].score > scores.scores[b].score; });
  return order;
}

void require_allowed_truncation(const RerankRequest& request, const RerankScores& scores) {
  if (request.truncate && !request.truncate_left) return;
  for (std::size_t i = 0; i < scores.scores.size(); ++i) {
    const CandidateScore& score = scores.scores[i];
    if (!score.truncated && !score.query_truncated) continue;
    const std::string what = score.query_truncated ? "the query" : fmt::format("text {}", i);
    throw too_much(request.truncate
                       ? what +
                             " is too long for the model, which can only cut off the end: `truncation_direction` "
                             "must be \"right\""
                       : what + " is too long for the model, and `truncate` is false");
  }
}

}  // namespace

float sigmoid(float logit) { return 1.0F / (1.0F + std::exp(-logit)); }

float shown_score(float score, ScoreMeaning meaning) {
  switch (meaning) {
    case ScoreMeaning::logit: return sigmoid(score);
    case ScoreMeaning::log_probability: return std::exp(score);
    case ScoreMeaning::similarity: break;
  }
  return score;
}

RerankRequest parse_rerank(std::string_view body, RerankForm form, const ServerConfig& limits) {
  // A text may be an object, which has more members than the one that counts.
  constexpr std::size_t values_per_text = 16;
  const JsonTree json =
      parse_object(body, std::max(kMaxValues, values_per_text * static_cast<std::size_t>(limits.texts)));
  const Fields fields(*json);
  RerankRequest request;
  request.query = query_of(fields, limits);
  request.timeout_ms = fields.whole_number("timeout_ms", 0, 0, limits.request_timeout.count());
  request.form = form == RerankForm::v1 && fields.find("texts") != nullptr ? RerankForm::tei : form;
  request.raw_scores = fields.boolean("raw_scores", false);
  if (request.form == RerankForm::tei) {
    request.texts = texts_of(fields, "texts", false, limits);
    request.return_texts = fields.boolean("return_text", false);
    request.truncate = fields.boolean("truncate", true);
    request.truncate_left = is_left(fields);
    request.top = request.texts.size();
    return request;
  }
  if (form == RerankForm::v1 && fields.find("documents") == nullptr) {
    throw not_valid("`texts` or `documents` is missing");
  }
  request.texts = texts_of(fields, "documents", true, limits);
  request.return_texts = fields.boolean("return_documents", false);
  // 0 is vLLM's default and stands for all.
  const auto top = static_cast<std::size_t>(fields.whole_number("top_n", 0, 0, std::int64_t{1} << 53));
  request.top = top == 0 ? request.texts.size() : std::min(top, request.texts.size());
  if (fields.find("model") != nullptr) request.model = fields.text("model", 256);
  return request;
}

std::string rerank_answer(const RerankRequest& request, const RerankScores& scores, const std::string& model) {
  require_allowed_truncation(request, scores);
  std::vector<std::size_t> order = best_first(scores);
  order.resize(std::min(order.size(), request.top));
  Answer results = Answer::array();
  for (const std::size_t index : order) {
    const float logit = scores.scores[index].score;
    const double score = as_json(request.raw_scores ? logit : shown_score(logit, scores.meaning));
    Answer result{{"index", index}};
    if (request.form == RerankForm::tei) {
      if (request.return_texts) result["text"] = request.texts[index];
      result["score"] = score;
    } else {
      const std::string& text = request.texts[index];
      result["relevance_score"] = score;
      // Not `? :`: where the first branch throws, GCC 12 also destroys the other's parts, which do not exist.
      if (request.return_texts && request.form == RerankForm::infinity) {
        result["document"] = text;
      } else if (request.return_texts) {
        result["document"] = Answer{{"text", text}};
      }
    }
    results.push_back(std::move(result));
  }
  if (request.form == RerankForm::tei) return to_text(results);
  std::int64_t tokens = 0;
  for (const CandidateScore& score : scores.scores) tokens += score.tokens;
  const char* version = request.form == RerankForm::v2 ? "2" : "1";
  return to_text({{"object", request.form == RerankForm::infinity ? "rerank" : "list"},
                  {"model", request.model.empty() ? model : request.model},
                  {"results", std::move(results)},
                  {"usage", {{"total_tokens", tokens}, {"prompt_tokens", tokens}}},
                  {"meta", {{"api_version", {{"version", version}}}, {"billed_units", {{"search_units", 1}}}}}});
}

}  // namespace relucent::server
