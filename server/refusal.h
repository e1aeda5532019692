#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "relucent/error.h"
#include "server/http.h"

namespace relucent::server {

/// Why a request is not answered as asked, with the status and the error_type of text-embeddings-inference:
/// Validation, Overloaded, Unhealthy, Backend, and Timeout, which that server does not have.
class Refusal : public std::runtime_error {
 public:
  Refusal(int status, std::string type, const std::string& message)
      : std::runtime_error(message), status_(status), type_(std::move(type)) {}

  int status() const noexcept { return status_; }
  const std::string& type() const noexcept { return type_; }

 private:
  int status_;
  std::string type_;
};

/// A request whose JSON is well-formed, but not what the path takes.
inline Refusal not_valid(const std::string& message) { return {422, "Validation", message}; }
inline Refusal deadline_passed() { return {504, "Timeout", "the request's deadline passed"}; }
/// A request above a limit.
inline Refusal too_much(const std::string& message) { return {413, "Validation", message}; }

/// What a client is told about an error of the library, without paths of this machine. A deadline is 504, what the
/// request asked wrongly 422, the rest 424, as text-embeddings-inference answers for a failing backend.
Refusal refusal_of(const Error& error);

/// The answer that states it, with text-embeddings-inference's keys, and `message`, which Cohere's clients read.
HttpResponse answer_of(const Refusal& refusal);

/// `text` with every path of a file or folder replaced by its last part.
std::string without_paths(const std::string& text);

}  // namespace relucent::server
