// What a server reads: requests byte by byte, their bodies, and the answers of shards.
#include <memory>
#include <utility>

#include "relucent/config.h"
#include "relucent/error.h"
#include "server/document_requests.h"
#include "server/http.h"
#include "server/json.h"
#include "server/refusal.h"
#include "server/request_parser.h"
#include "server/rerank_requests.h"
#include "server/result_json.h"
#include "server/search_requests.h"
#include "server/shard_answers.h"
#include "tests/growth/growth.h"

namespace relucent::testing {
namespace {

using namespace server;  // NOLINT(google-build-using-namespace)

/// Limits that no case reaches: what a larger limit would cost shows how the smaller one grows.
ServerConfig wide_limits() {
  ServerConfig limits;
  limits.header_bytes = limits.body_bytes = limits.text_bytes = 1 << 30;
  limits.texts = limits.hits = limits.explained_hits = 1 << 30;
  return limits;
}

/// Reads a request in pieces of so many bytes.
Case request(const std::string& name, std::size_t size, std::string (*make)(std::size_t), std::size_t piece = 1000) {
  return {"request_" + name, size, [make, piece](std::size_t n) -> Work {
            return [bytes = make(n), piece] {
              const ServerConfig limits = wide_limits();
              HttpRequest read;
              RequestParser parser(limits, read, [](std::size_t) { return true; });
              try {
                for (std::string_view rest = bytes; !rest.empty() && !parser.complete();) {
                  const bool had_head = parser.has_head();
                  rest.remove_prefix(parser.take(rest.substr(0, piece)));
                  if (!had_head && parser.has_head()) parser.expect_body();
                }
              } catch (const Refusal&) {
              }
            };
          }};
}

template <typename Parse>
Case body(const std::string& name, std::size_t size, std::string (*make)(std::size_t), Parse parse,
          std::size_t largest_factor = 1000) {
  return {"body_" + name, size,
          [make, parse](std::size_t n) -> Work {
            return [text = make(n), parse] {
              try {
                parse(text);
              } catch (const Refusal&) {
              } catch (const Error&) {
              }
            };
          },
          largest_factor};
}

void read_rerank(std::string_view text) {
  const RerankRequest read = parse_rerank(text, RerankForm::v1, wide_limits());
  RerankScores scores;
  scores.scores.resize(read.texts.size());
  rerank_answer(read, scores, "m");
}
void read_search(std::string_view text) { parse_search(text, wide_limits()); }
void read_documents(std::string_view text) { parse_documents(text, wide_limits()); }

std::string head(const std::string& fields) { return "POST /rerank HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }
std::string documents(std::size_t n, const std::string& text) {
  return R"({"query":"q","return_documents":true,"documents":[)" + repeated(n, text + ",") + text + "]}";
}
/// A search with these members.
std::string search(const std::string& members) { return R"({"query":"q",)" + members + "}"; }
std::string strings(std::size_t n) {
  return numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"s" : ",\"s") + i + "\""; });
}

void read_shard_hits(std::string_view text) {
  ShardOrder order;
  order.query = "q";
  order.hits = 1'000'000;
  order.fields = order.texts = true;
  order.facets = {"lang"};
  read_hits("shard", text, order);
}
void read_shard_statistics(std::string_view text) {
  ShardOrder order;
  order.query = repeated(1000, "word ");
  read_statistics("shard", text, order);
}

}  // namespace

std::vector<Case> server_cases() {
  return {
      request("fields", 500,
              [](std::size_t n) {
                return head(numbered_texts(n, [](const std::string& i) { return "X-" + i + ": a\r\n"; }));
              }),
      request("one_field_again", 500, [](std::size_t n) { return head(repeated(n, "X: a\r\n")); }),
      request(
          "field_byte_by_byte", 2000, [](std::size_t n) { return head("X: " + std::string(n, 'a') + "\r\n"); }, 1),
      request(
          "fields_byte_by_byte", 500, [](std::size_t n) { return head(repeated(n, "X: a\r\n")); }, 1),
      request("cookies", 500,
              [](std::size_t n) { return head(repeated(n, "Cookie: a\r\nVia: b\r\nX-Forwarded-For: 1\r\n")); }),
      request("trace_states", 500,
              [](std::size_t n) {
                return head("traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\r\n" +
                            repeated(n, "tracestate: a=b\r\n"));
              }),
      request("long_path", 5000,
              [](std::size_t n) { return "GET /" + std::string(n, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"; }),
      request("blank_lines", 2000, [](std::size_t n) { return repeated(n, "\r\n") + head(""); }),
      request(
          "body", 10000,
          [](std::size_t n) { return head("Content-Length: " + std::to_string(n) + "\r\n") + std::string(n, 'a'); },
          100),
      request("chunks", 500,
              [](std::size_t n) {
                return head("Transfer-Encoding: chunked\r\n") + repeated(n, "1\r\na\r\n") + "0\r\n\r\n";
              }),
      request(
          "chunks_byte_by_byte", 500,
          [](std::size_t n) {
            return head("Transfer-Encoding: chunked\r\n") + repeated(n, "1\r\na\r\n") + "0\r\n\r\n";
          },
          1),
      request("chunk_extensions", 2000,
              [](std::size_t n) {
                return head("Transfer-Encoding: chunked\r\n") + "1;" + std::string(n, 'x') + "\r\na\r\n0\r\n\r\n";
              }),
      request("trailers", 500,
              [](std::size_t n) {
                return head("Transfer-Encoding: chunked\r\n") + "0\r\n" + repeated(n, "X: a\r\n") + "\r\n";
              }),

      body(
          "rerank_documents", 200, [](std::size_t n) { return documents(n, "\"a\""); }, read_rerank, 60),
      body(
          "rerank_objects", 200, [](std::size_t n) { return documents(n, R"({"text":"a","title":1})"); }, read_rerank,
          20),
      body(
          "rerank_long_document", 5000, [](std::size_t n) { return documents(1, "\"" + std::string(n, 'a') + "\""); },
          read_rerank),
      body(
          "rerank_long_query", 500,
          [](std::size_t n) { return R"({"query":")" + std::string(n, 'q') + R"(","documents":["a"]})"; }, read_rerank),
      body(
          "rerank_keys", 500,
          [](std::size_t n) {
            return R"({"query":"q","documents":["a"])" +
                   numbered_texts(n, [](const std::string& i) { return ",\"k" + i + "\":1"; }) + "}";
          },
          read_rerank, 16),
      body(
          "rerank_repeated_key", 500,
          [](std::size_t n) { return R"({"query":"q","documents":["a"])" + repeated(n, ",\"k\":1") + "}"; },
          read_rerank, 16),
      body(
          "rerank_deep", 200, [](std::size_t n) { return "{\"query\":" + repeated(n, "["); }, read_rerank),
      body(
          "rerank_empty_arrays", 500, [](std::size_t n) { return "{\"a\":[" + repeated(n, "[],") + "[]]}"; },
          read_rerank, 16),
      body(
          "rerank_escapes", 2000, [](std::size_t n) { return documents(1, "\"" + repeated(n, "\\u00e4") + "\""); },
          read_rerank),
      body(
          "rerank_not_utf8", 2000, [](std::size_t n) { return documents(1, "\"" + std::string(n, '\xff') + "\""); },
          read_rerank),
      body(
          "search_facets", 200, [](std::size_t n) { return search("\"facets\":[" + strings(n) + "]"); }, read_search,
          16),
      body(
          "search_fields", 200, [](std::size_t n) { return search("\"fields\":[" + strings(n) + "]"); }, read_search,
          16),
      body(
          "search_filters", 200,
          [](std::size_t n) {
            return search(
                "\"filter\":{" +
                numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"k" : ",\"k") + i + "\":1"; }) + "}");
          },
          read_search, 16),
      body(
          "search_filter_values", 200, [](std::size_t n) { return search("\"filter\":{\"a\":[" + strings(n) + "]}"); },
          read_search, 16),
      body(
          "search_statistics", 200,
          [](std::size_t n) {
            return search(
                "\"statistics\":{\"documents\":10,\"tokens\":10,\"frequencies\":{" +
                numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"k" : ",\"k") + i + "\":1"; }) +
                "}}");
          },
          read_search, 16),
      body(
          "put_documents", 200,
          [](std::size_t n) {
            return R"({"documents":[)" +
                   numbered_texts(n,
                                  [](const std::string& i) {
                                    return (i == "0" ? "" : ",") +
                                           (R"({"id":"d)" + i + R"(","text":"a","metadata":{"a":1}})");
                                  }) +
                   "]}";
          },
          read_documents, 8),
      body(
          "put_metadata_keys", 200,
          [](std::size_t n) {
            return R"({"id":"d","text":"a","metadata":{)" +
                   numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"k" : ",\"k") + i + "\":1"; }) +
                   "}}";
          },
          read_documents, 16),
      body(
          "shard_hits", 100,
          [](std::size_t n) {
            return R"({"total":5,"total_is_exact":true,"hits":[)" +
                   numbered_texts(
                       n,
                       [](const std::string& i) {
                         return (i == "0" ? "" : ",") +
                                (R"({"id":"d)" + i +
                                 R"(","rank":1,"score":1.0,"first_stage_score":1.0,"text":"t","fields":{}})");
                       }) +
                   "]}";
          },
          read_shard_hits),
      body(
          "shard_keys", 500,
          [](std::size_t n) {
            return "{" + numbered_texts(n, [](const std::string& i) { return "\"k" + i + "\":1,"; }) +
                   R"("total":0,"hits":[]})";
          },
          read_shard_hits),
      body(
          "shard_statistics", 200,
          [](std::size_t n) {
            return R"({"documents":10,"tokens":10,"frequencies":{)" +
                   numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"k" : ",\"k") + i + "\":1"; }) +
                   "}}";
          },
          read_shard_statistics),
      body(
          "shard_error", 2000, [](std::size_t n) { return R"({"error":")" + std::string(n, 'a') + "\"}"; },
          [](std::string_view text) { read_error(text); }),
      body(
          "metadata_of_an_answer", 1000,
          [](std::size_t n) {
            return "{" + numbered_texts(n, [](const std::string& i) { return "\"k" + i + "\":1,"; }) + "\"a\":1}";
          },
          [](std::string_view text) { to_text(object_json(text)); }, 16),
      body(
          "path_of_a_document", 2000, [](std::size_t n) { return "/doc/" + repeated(n, "%41"); },
          [](std::string_view text) { id_in_path(text, "/doc/"); }),
  };
}

}  // namespace relucent::testing
