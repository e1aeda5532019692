#pragma once

#include <string>
#include <string_view>

namespace relucent::server {

/// The path of a document in the index: /doc/ and its id, percent-encoded.
std::string document_path(std::string_view id);
/// The value of `index` in the query part of a request; empty without one.
std::string_view index_in_query(std::string_view query);

}  // namespace relucent::server
