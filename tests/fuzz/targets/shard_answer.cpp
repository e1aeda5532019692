// What a front reads of a shard's answers. The first byte selects what it asked for.
#include "server/result_json.h"
#include "server/shard_answers.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_mutator.h"

RELUCENT_FUZZ_JSON
RELUCENT_FUZZ_TARGET(shard_answer) {
  if (input.empty()) return;
  const auto flags = static_cast<unsigned char>(input[0]);
  input.remove_prefix(1);
  server::ShardOrder order{"what is a shard", 3, (flags & 1U) != 0, (flags & 2U) != 0};
  if ((flags & 4U) != 0) order.facets = {"lang", "year"};
  answer_or_error([&] {
    const server::ShardHits found = server::read_hits("shard", input, order);
    if (found.hits.size() > order.hits || found.facets.size() != order.facets.size()) report("more than was asked for");
    for (const FacetCounts& facet : server::add_facets(order.facets, {found.facets, found.facets})) {
      if (facet.values.size() > kMaxFacetValues) report("too many values of a facet");
    }
  });
  answer_or_error([&] { CollectionStatistics(server::read_statistics("shard", input, order)) += {}; });
  answer_or_error([&] { server::read_document("shard", input); });
  if (server::read_error(input).size() > 200) report("a reason that is too long");
}
