/// A plugin that uses the library, for hosts that open it with dlopen: a C interface over SearchSession. Answers are
/// allocated by malloc; the host frees them.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "relucent/index_builder.h"
#include "relucent/search_session.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

relucent::Config profile() {
  relucent::Config config;
  config.rescorer.timeout = std::chrono::milliseconds(0);
  config.rescorer.window = 4;
  config.first_stage.hits = 8;
  return config;
}

char* copy(const std::string& text) { return ::strdup(text.c_str()); }

}  // namespace

/// Writes an index of a few texts. Returns an error's text, or null.
EXPORTED char* hosted_index(const char* folder) {
  try {
    const auto builder = relucent::IndexBuilder::open(folder, relucent::IndexBuilder::Mode::create, {});
    const char* texts[] = {"Bread goes stale faster in the refrigerator.", "INDIA is the home of IRISES in spring.",
                           "Keep a loaf of bread in a paper bag.",         "The chain of a bicycle wants oil.",
                           "The river Isar rises in the mountains.",       "Irises bloom in India late in spring."};
    for (const char* text : texts) builder->add("t" + std::to_string(text - texts[0]), text);
    builder->commit({});
    builder->close();
    return nullptr;
  } catch (const std::exception& error) {
    return copy(error.what());
  }
}

/// Opens an index; null after an error.
EXPORTED void* hosted_open(const char* folder) {
  try {
    return new relucent::SearchSession(folder, profile(), relucent::QuerySyntax::words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

/// The hits for one query, reranked: one line each with the text, its score's bits and whether it was rescored. If the
/// search fails, "error: " and why.
EXPORTED char* hosted_search(void* session, const char* query) {
  try {
    const auto found =
        static_cast<const relucent::SearchSession*>(session)->search(query, 8, relucent::HitTexts::whole);
    std::string answer;
    for (const relucent::SearchHit& hit : found.hits) {
      char bits[32];
      std::snprintf(bits, sizeof bits, "%a", hit.score);
      if (char* comma = std::strchr(bits, ',')) *comma = '.';  // the host's locale
      answer += hit.text + '\t' + bits + '\n';
    }
    return copy(found.degraded ? "error: degraded: " + found.reason : answer);
  } catch (const std::exception& error) {
    return copy(std::string("error: ") + error.what());
  }
}

EXPORTED void hosted_close(void* session) { delete static_cast<relucent::SearchSession*>(session); }
