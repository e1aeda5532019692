#include "index_tools/program/pattern_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"
#include "index_tools/evaluation/svg_text.h"

namespace relucent::program {
namespace {

constexpr int kQueryTokens = 3, kDocumentTokens = 12, kSentenceEvery = 6, kContextTokens = 2;

struct DrawnToken {
  std::string name;
  std::size_t group = 0;
  int position = 0;
};

/// The tokens of a short input, of all groups that have some, in the order in which they are read.
std::vector<DrawnToken> example_tokens(const EncoderDescription& description) {
  std::vector<DrawnToken> tokens;
  int position = 0;
  const auto add = [&](std::string name, std::size_t group) { tokens.push_back({std::move(name), group, position++}); };
  const auto is_gated = [&](std::size_t group) {
    const auto& layers = description.stacks.back().layers;
    const std::optional<GatedToken>& gated = layers.front().attentions.front().gated;
    return gated && gated->group == static_cast<std::int32_t>(group);
  };
  const auto sentences = std::ranges::find(description.groups, "sentences", &TokenGroup::name);
  for (std::size_t group = 0; group < description.groups.size(); ++group) {
    const TokenGroup& of = description.groups[group];
    if (of.pivots_of || of.name == "sentences") continue;
    if (of.derived) {
      for (int i = 1; i <= std::min(of.derived->tokens, kContextTokens); ++i) add(fmt::format("e{}", i), group);
    } else if (of.name == "query") {
      for (int i = 1; i <= kQueryTokens; ++i) add(fmt::format("q{}", i), group);
    } else if (group == static_cast<std::size_t>(kDocument)) {
      for (int i = 0; i < kDocumentTokens; ++i) {
        if (sentences != description.groups.end() && i % kSentenceEvery == 0) {
          add(fmt::format("s{}", i / kSentenceEvery + 1),
              static_cast<std::size_t>(sentences - description.groups.begin()));
        }
        add(fmt::format("d{}", i + 1), group);
      }
    } else {
      add(is_gated(group) ? "h" : of.name, group);
    }
  }
  return tokens;
}

bool sees(const Views& views, const DrawnToken& from, const DrawnToken& to) {
  if (from.group >= views.size() || to.group >= views[from.group].size()) return false;
  const View& view = views[from.group][to.group];
  switch (view.kind) {
    case View::Kind::none:
    case View::Kind::linked: return false;
    case View::Kind::all:
    case View::Kind::across: return true;
    case View::Kind::window: return std::abs(from.position - to.position) <= std::min(view.window, kMostWindow);
    case View::Kind::before: return to.position <= from.position;
  }
  return false;
}

std::string window_note(const Views& views) {
  std::string note;
  for (const auto& of_group : views) {
    for (const View& view : of_group) {
      if (view.kind == View::Kind::before) note = ", the tokens before";
      if (view.kind != View::Kind::window) continue;
      note = fmt::format(", window {}", view.window);
      if (view.window > kMostWindow) note += fmt::format(", drawn as {}", kMostWindow);
      return note;
    }
  }
  return note;
}

PatternDrawing drawing_of(const EncoderDescription& description, const Stack& stack, const Attention& attention,
                          const std::string& layers) {
  PatternDrawing drawing;
  drawing.title = layers + window_note(attention.views);
  // Those that pass through the stack, and those of other stacks that they see.
  std::vector<DrawnToken> tokens = example_tokens(description);
  const auto passes = [&](const DrawnToken& token) {
    return std::ranges::count(stack.groups, static_cast<std::int32_t>(token.group)) > 0;
  };
  std::vector<DrawnToken> drawn;
  for (const DrawnToken& token : tokens) {
    const bool seen = std::ranges::any_of(
        tokens, [&](const DrawnToken& from) { return passes(from) && sees(attention.views, from, token); });
    if (passes(token) || seen) drawn.push_back(token);
  }
  for (const DrawnToken& from : drawn) {
    drawing.tokens.push_back(from.name);
    std::vector<bool>& row = drawing.sees.emplace_back();
    for (const DrawnToken& to : drawn) row.push_back(passes(from) && sees(attention.views, from, to));
  }
  return drawing;
}

std::string layers_text(std::size_t first, std::size_t end) {
  return end - first == 1 ? fmt::format("layer {}", first) : fmt::format("layers {} to {}", first, end - 1);
}

}  // namespace

std::vector<PatternDrawing> draw_pattern(const EncoderDescription& description) {
  std::vector<PatternDrawing> drawings;
  for (std::size_t s = 0; s < description.stacks.size(); ++s) {
    const Stack& stack = description.stacks[s];
    const std::string of_stack = description.stacks.size() > 1 ? fmt::format("stack {}, ", s + 1) : "";
    // Layers that see alike need not be neighbours, as in ModernBERT.
    std::vector<std::pair<Views, std::vector<std::size_t>>> kinds;
    for (std::size_t layer = 0; layer < stack.layers.size(); ++layer) {
      const Views& views = stack.layers[layer].attentions.front().views;
      const auto known = std::ranges::find(kinds, views, &decltype(kinds)::value_type::first);
      (known == kinds.end() ? kinds.emplace_back(views, std::vector<std::size_t>()) : *known).second.push_back(layer);
    }
    for (const auto& [views, layers] : kinds) {
      const bool neighbours = layers.back() - layers.front() + 1 == layers.size();
      const std::string named = neighbours ? layers_text(layers.front(), layers.back() + 1) : "layers " + join(layers);
      drawings.push_back(
          drawing_of(description, stack, stack.layers[layers.front()].attentions.front(), of_stack + named));
    }
  }
  return drawings;
}

std::string pattern_text(const std::vector<PatternDrawing>& drawings) {
  std::string text;
  for (const PatternDrawing& drawing : drawings) {
    if (!text.empty()) text += "\n";
    text += drawing.title + "\n";
    std::size_t width = 0;
    for (const std::string& token : drawing.tokens) width = std::max(width, token.size());
    // The columns' names, read downwards.
    for (std::size_t line = 0; line < width; ++line) {
      std::string row(width + 1, ' ');
      for (const std::string& token : drawing.tokens) {
        const std::size_t above = width - token.size();
        row += line < above ? ' ' : token[line - above];
        row += ' ';
      }
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
    for (std::size_t from = 0; from < drawing.tokens.size(); ++from) {
      std::string row = fmt::format("{:<{}} ", drawing.tokens[from], width);
      for (const bool seen : drawing.sees[from]) row += seen ? "# " : ". ";
      row.pop_back();
      text += row + "\n";
    }
  }
  return text;
}

std::string pattern_svg(const std::vector<PatternDrawing>& drawings, const std::string& title) {
  using index_tools::kSvgInk;
  using index_tools::svg_text;
  constexpr double font = 10, cell = 14, gap = 30;
  std::string content;
  double x = 0, height = 0;
  for (const PatternDrawing& drawing : drawings) {
    double names = 0;
    for (const std::string& token : drawing.tokens) names = std::max(names, index_tools::svg_text_width(token, font));
    const double left = x + names + 8, top = 24 + names;
    const double side = cell * static_cast<double>(drawing.tokens.size());
    content += svg_text(left, 14, "start", escape_xml(drawing.title));
    for (std::size_t i = 0; i < drawing.tokens.size(); ++i) {
      const double at = cell * (static_cast<double>(i) + 0.5) + font / 3;
      const std::string name = escape_xml(drawing.tokens[i]);
      content += svg_text(left - 4, top + at, "end", name);
      content += svg_text(0, 0, "start", name,
                          fmt::format(" transform=\"translate({:.1f} {:.1f}) rotate(-90)\"", left + at, top - 4));
    }
    for (std::size_t from = 0; from < drawing.tokens.size(); ++from) {
      for (std::size_t to = 0; to < drawing.tokens.size(); ++to) {
        content += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" stroke=\"{}\" stroke-width=\"0.5\" "
            "fill=\"{}\"/>\n",
            left + cell * static_cast<double>(to), top + cell * static_cast<double>(from), cell, cell, kSvgInk,
            drawing.sees[from][to] ? "#4477aa" : "none");
      }
    }
    x = left + std::max(side, index_tools::svg_text_width(drawing.title, font)) + gap;
    height = std::max(height, top + side + 8);
  }
  return index_tools::svg_drawing(x, height, font, title, content);
}

}  // namespace relucent::program
