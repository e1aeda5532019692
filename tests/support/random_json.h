#pragma once

#include <random>
#include <string>

namespace relucent::testing {

/// A random text in JSON with names that occur again, up to `depth` levels deep.
inline std::string random_json(std::mt19937& random, int depth) {
  static constexpr const char* kScalars[] = {"null",
                                             "true",
                                             "false",
                                             "0",
                                             "-0",
                                             "-0.0",
                                             "1.50",
                                             "1e5",
                                             "-1E-7",
                                             "1e400",
                                             "\"\"",
                                             "\"a\"",
                                             "\"\\u00e9\\n\\/\"",
                                             "\"é\\\"\"",
                                             "\"\xff\"",
                                             "18446744073709551615",
                                             "-9223372036854775808",
                                             "99999999999999999999"};
  const auto white = [&] { return std::string(random() % 8 == 0 ? " \n" : ""); };
  const auto kind = random() % 10;
  if (depth == 0 || kind < 4) {
    // Few that are not JSON, which also have a place of their own below.
    std::string scalar = kScalars[random() % std::size(kScalars)];
    if ((scalar == "1e400" || scalar == "\"\xff\"") && random() % 20 != 0) scalar = "7";
    return white() + scalar + white();
  }
  const bool object = kind < 7;
  std::string text = object ? "{" : "[";
  const auto count = random() % 5;
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    if (object) text += white() + '"' + std::string(1, static_cast<char>('a' + random() % 3)) + "\":";
    text += random_json(random, depth - 1);
  }
  return text + (object ? "}" : "]") + white();
}

/// The same, in some texts with a byte that is missing, doubled or another.
inline std::string damaged_json(std::mt19937& random, int depth) {
  std::string text = random_json(random, depth);
  const auto at = random() % text.size();
  switch (random() % 6) {
    case 0: text.erase(at, 1); break;
    case 1: text.insert(at, 1, text[at]); break;
    case 2: text[at] = static_cast<char>(random()); break;
    default: break;
  }
  return text;
}

}  // namespace relucent::testing
