// Two stages: a cheap look at 100 hits, which reads the beginning of each text, and a thorough one at the best 10.
// Usage: cascade_search INDEX QUESTION
#include <relucent/error.h>
#include <relucent/search_session.h>

#include <iostream>

// A profile as text; load_config() reads one from a file.
constexpr const char* kProfile = R"(
[rescorer]
on_error = "previous_stage"    # if the second stage fails, the order of the first one counts

[[rescorer.stages]]
window = 100
max_length = 64

[[rescorer.stages]]
window = 10
)";

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const relucent::Config config = relucent::parse_config(kProfile, "kProfile");
    const relucent::SearchSession session(argv[1], config, relucent::QuerySyntax::words);
    const auto found = session.search(argv[2], 5, relucent::HitTexts::none);
    for (const relucent::StageReport& stage : found.stages) {
      std::cout << stage.rescored << " hits in " << relucent::in_milliseconds(stage.times.encode) << " ms by "
                << stage.scorer << '\n';
    }
    for (const relucent::SearchHit& hit : found.hits) {
      std::cout << hit.rank << '\t' << hit.id;
      for (const float logit : hit.stage_logits) std::cout << '\t' << logit;
      std::cout << '\n';
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
