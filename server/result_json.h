#pragma once

#include <string_view>

#include "relucent/search_session.h"
#include "server/answer.h"

namespace relucent::server {

/// Whether messages name folders of this machine: a person at it may see them, a client of the server may not.
enum class Paths { shown, left_out };

/// A document's metadata; an empty object for what is not one.
Answer object_json(std::string_view text);

/// A document's id, text and metadata.
Answer document_json(const StoredDocument& document);

/// A search's result without its hits. With several stages, `stages` has what each did; `facets`, if any were asked
/// for, has how many of the documents that match have each value.
Answer result_json(const SearchResult& result, Paths paths);
/// A hit with the place of its passage, but without texts; `stage_logits` if there are several stages.
Answer hit_json(const SearchHit& hit, const SearchResult& result, Paths paths);
/// Adds the passage's text to the hit's passage, if it has one.
void add_passage_text(const SearchHit& hit, Answer& json);
/// The times of all steps.
Answer milliseconds_json(const SearchResult& result);

}  // namespace relucent::server
