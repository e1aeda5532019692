#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent::server {

/// The path of a document in the index: /doc/ and its id, percent-encoded.
std::string document_path(std::string_view id);
/// The value of `index` in the query part of a request; empty without one.
std::string_view index_in_query(std::string_view query);
/// The id in such a path; nothing for another path or an encoding that is not valid.
std::optional<std::string> document_id(std::string_view path);

}  // namespace relucent::server
