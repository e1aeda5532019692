#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "server/engine.h"
#include "server/json.h"

namespace relucent::server {

/// Whose form a request for scores and its answer have.
enum class RerankForm {
  tei,       ///< `texts`: text-embeddings-inference
  v1,        ///< `documents`: llama.cpp, vLLM, Jina, and Cohere's first version
  v2,        ///< `documents`: Cohere's second version
  infinity,  ///< `documents`, which its clients expect back as strings
};

struct RerankRequest {
  RerankForm form = RerankForm::tei;
  std::string query;
  std::vector<std::string> texts;
  std::size_t top = 0;      ///< how many to return
  bool raw_scores = false;  ///< logits (monoT5: log-probabilities) instead of probabilities
  bool return_texts = false;
  bool truncate = true;         ///< false: a text that is too long is an error
  bool truncate_left = false;   ///< what is too long is to lose its beginning, which is an error
  std::int64_t timeout_ms = 0;  ///< 0: none asked for
  std::string model;            ///< as asked for; only repeated
};

/// @param form  v2, infinity, or v1, which stands for tei if the request has `texts`
/// Throws Refusal: 400 or 422 for what is not such a request, 413 for one above a limit of [server].
RerankRequest parse_rerank(std::string_view body, RerankForm form, const ServerConfig& limits);

/// The answer's body. Throws Refusal 413 if the request forbids the truncation that happened.
std::string rerank_answer(const RerankRequest& request, const RerankScores& scores, const std::string& model);

/// 1 / (1 + exp(-x)) in single precision, as text-embeddings-inference computes it.
float sigmoid(float logit);
/// The probability that a score stands for; a similarity as it is.
float shown_score(float score, ScoreMeaning meaning);

}  // namespace relucent::server
