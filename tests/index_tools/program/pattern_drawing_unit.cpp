// Who sees whom, as text and as a picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "index_tools/program/pattern_drawing.h"
#include "model/families/pattern.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/test_data.h"

namespace relucent::program {
namespace {

using testing::golden_path;

std::vector<PatternDrawing> drawings_of(PatternChoice choice, std::optional<std::int32_t> window) {
  return draw_pattern(with_pattern(JsonFile::read(default_model() / "config.json"), choice, window).description);
}

TEST(PatternDrawing, ASparsePatternHasABandAndABlindQuery) {
  EXPECT_EQ(pattern_text(drawings_of(PatternChoice::sparse, 1)), R"(layers 0 to 5, window 1
      [
      C
      L                         d d d
      S q q q d d d d d d d d d 1 1 1
      ] 1 2 3 1 2 3 4 5 6 7 8 9 0 1 2
[CLS] # # # # # # # # # # # # # # # #
q1    . # # # . . . . . . . . . . . .
q2    . # # # . . . . . . . . . . . .
q3    . # # # . . . . . . . . . . . .
d1    # # # # # # . . . . . . . . . .
d2    # # # # # # # . . . . . . . . .
d3    # # # # . # # # . . . . . . . .
d4    # # # # . . # # # . . . . . . .
d5    # # # # . . . # # # . . . . . .
d6    # # # # . . . . # # # . . . . .
d7    # # # # . . . . . # # # . . . .
d8    # # # # . . . . . . # # # . . .
d9    # # # # . . . . . . . # # # . .
d10   # # # # . . . . . . . . # # # .
d11   # # # # . . . . . . . . . # # #
d12   # # # # . . . . . . . . . . # #
)");
}

bool sees(const PatternDrawing& drawing, const std::string& from, const std::string& to) {
  const auto place = [&](const std::string& name) {
    const auto found = std::ranges::find(drawing.tokens, name);
    EXPECT_NE(found, drawing.tokens.end()) << name;
    return static_cast<std::size_t>(found - drawing.tokens.begin());
  };
  return drawing.sees.at(place(from)).at(place(to));
}

TEST(PatternDrawing, OtherPatterns) {
  const PatternDrawing full = drawings_of(PatternChoice::full, std::nullopt).at(0);
  EXPECT_EQ(full.title, "layers 0 to 5");
  EXPECT_TRUE(sees(full, "q1", "d12"));
  const PatternDrawing longformer = drawings_of(PatternChoice::longformer, 64).at(0);
  EXPECT_EQ(longformer.title, "layers 0 to 5, window 64, drawn as 4");
  EXPECT_TRUE(sees(longformer, "q1", "d12"));
  EXPECT_TRUE(sees(longformer, "d1", "d5"));
  EXPECT_FALSE(sees(longformer, "d1", "d6"));
  const PatternDrawing qds = drawings_of(PatternChoice::qds, 1).at(0);
  EXPECT_TRUE(sees(qds, "d1", "s2"));
  EXPECT_TRUE(sees(qds, "s2", "d1"));
  EXPECT_FALSE(sees(qds, "d1", "d12"));
}

TEST(PatternDrawing, StacksAndKindsOfLayersAreDrawnApart) {
  const auto mix = draw_pattern(inspect_checkpoint(golden_path("classifiers") / "mix-labels").description);
  ASSERT_EQ(mix.size(), 2U);
  EXPECT_FALSE(sees(mix[0], "q1", "d1"));
  EXPECT_EQ(mix[1].title, "stack 2, layers 0 to 1");
  EXPECT_TRUE(sees(mix[1], "h", "q1"));
  EXPECT_FALSE(sees(mix[1], "h", "e1"));
  EXPECT_TRUE(sees(mix[1], "e1", "e2"));
  EncoderDescription description = inspect_checkpoint(golden_path("classifiers") / "bert").description;
  Stack& stack = description.stacks.front();
  stack.layers.push_back(stack.layers.front());
  ASSERT_EQ(stack.layers.size(), 4U);
  for (const std::size_t layer : {1U, 3U}) {
    stack.layers[layer].attentions.front().views[kDocument][kDocument] = {View::Kind::window, 2};
  }
  const auto alternating = draw_pattern(description);
  ASSERT_EQ(alternating.size(), 2U);
  EXPECT_EQ(alternating[0].title, "layers 0, 2");
  EXPECT_EQ(alternating[1].title, "layers 1, 3, window 2");
}

TEST(PatternDrawing, APictureHasARectanglePerPair) {
  const auto drawings = drawings_of(PatternChoice::sparse, 4);
  const std::string svg = pattern_svg(drawings, "a <b>");
  const std::size_t pairs = drawings[0].tokens.size() * drawings[0].tokens.size();
  std::size_t rectangles = 0, filled = 0, expected = 0;
  for (std::size_t at = 0; (at = svg.find("<rect", at)) != std::string::npos; ++at) ++rectangles;
  for (std::size_t at = 0; (at = svg.find("#4477aa", at)) != std::string::npos; ++at) ++filled;
  for (const auto& row : drawings[0].sees) expected += static_cast<std::size_t>(std::ranges::count(row, true));
  EXPECT_EQ(rectangles, pairs);
  EXPECT_EQ(filled, expected);
  EXPECT_NE(svg.find("<title>a &lt;b&gt;</title>"), std::string::npos);
}

}  // namespace
}  // namespace relucent::program
