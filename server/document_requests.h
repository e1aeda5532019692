// Requests for one document, those that change the index, and their answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "server/document_writer.h"

namespace relucent::server {

/// One document, or those of `documents`. Throws Refusal: 400 or 422 for what is not such a request or names an id
/// twice, 413 for one above a limit of [server].
std::vector<NewDocument> parse_documents(std::string_view body, const ServerConfig& limits);

/// The id that a path names after `prefix`, with its %XX decoded. Throws Refusal 422.
std::string id_in_path(std::string_view path, std::string_view prefix);

/// The answers' bodies. @param problem  why searches do not see the change yet; empty: they do
std::string put_answer(const DocumentWriter::Change& change, const std::string& problem);
std::string remove_answer(const DocumentWriter::Change& change, const std::string& problem);

/// The path of a document in the index: /doc/ and its id, percent-encoded.
std::string document_path(std::string_view id);
/// The value of `index` in the query part of a request; empty without one.
std::string_view index_in_query(std::string_view query);

}  // namespace relucent::server
