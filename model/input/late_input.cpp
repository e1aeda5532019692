#include "model/input/late_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr const char* kMask = "[MASK]";
constexpr std::int32_t kShortestText = 3;  // [CLS], a word, [SEP]

}  // namespace

LateInput::LateInput(const FamilyConfiguration& configuration, const Tokenizer& tokenizer,
                     const std::filesystem::path& folder)
    : tokenizer_(tokenizer), folder_(folder), form_(*configuration.late) {
  const PairTemplate& pair = tokenizer.pair_template();
  if (pair.before.size() != 1 || pair.after.size() != 1) {
    throw Error(ErrorKind::unsupported, folder.string(), "the tokenizer's template is not [CLS] text [SEP]",
                "use a checkpoint with another tokenizer");
  }
  cls_ = pair.before.front();
  sep_ = pair.after.front();
  if (form_.expands) mask_ = id_of(kMask);
  query_ = side_of(form_.query);
  document_ = side_of(form_.document);
  positions_.resize(static_cast<std::size_t>(std::max(form_.query.length, form_.document.length)));
  std::iota(positions_.begin(), positions_.end(), form_.first_position);
}

std::int32_t LateInput::id_of(const std::string& token) const {
  if (const auto id = tokenizer_.token_id(token)) return *id;
  throw Error(ErrorKind::invalid_data, folder_.string(), fmt::format("the tokenizer has no token \"{}\"", token),
              "use the tokenizer files of the same model, or download them again");
}

LateInput::Side LateInput::side_of(const LateForm::Side& form) const {
  Side side{{cls_}, {}, 0, form.prompt};
  if (form.length < kShortestText) {
    throw Error(ErrorKind::invalid_data, folder_.string(),
                fmt::format("texts have at most {} tokens, which leaves no room for a word", form.length),
                "check max_seq_length and model_max_length");
  }
  if (!form.marker.empty()) side.before.push_back(id_of(form.marker));
  side.words = static_cast<std::size_t>(form.length) - side.before.size() - 1;
  // A word that is not one token is left out: it cannot occur.
  const auto skip = [&](std::string_view token) {
    if (const auto id = tokenizer_.token_id(token)) side.skipped.insert(*id);
  };
  for (const std::string& token : form.skipped) skip(token);
  if (form.skips_punctuation) {
    for (std::size_t i = 0; i < kPunctuation.size(); ++i) skip(kPunctuation.substr(i, 1));
  }
  if (side.skipped.contains(cls_)) {
    throw Error(ErrorKind::unsupported, folder_.string(), "[CLS] is among the tokens that do not score",
                "use a checkpoint whose list has only words and punctuation");
  }
  return side;
}

LateInput::Text LateInput::read(const Side& side, std::string_view text, const StopSignal& stop) const {
  Text read;
  read.ids = side.before;
  const std::string prompted = side.prompt.empty() ? std::string() : side.prompt + std::string(text);
  read.truncated = tokenizer_.encode(side.prompt.empty() ? text : prompted, side.words, read.ids, stop);
  read.ids.push_back(sep_);
  for (const std::int32_t id : read.ids) read.scores.push_back(!side.skipped.contains(id));
  return read;
}

LateInput::Text LateInput::query(std::string_view text, const StopSignal& stop) const {
  Text query = read(query_, text, stop);
  if (!form_.expands) return query;
  const auto length = static_cast<std::size_t>(form_.query.length);
  if (!form_.sees_expansion) query.expansion = length - query.ids.size();
  query.ids.resize(length, mask_);
  query.scores.resize(length, true);
  return query;
}

LateInput::Text LateInput::document(std::string_view text, const StopSignal& stop) const {
  Text read_text = read(document_, text, stop);
  if (form_.document.first_only) std::fill(read_text.scores.begin() + 1, read_text.scores.end(), false);
  return read_text;
}

Segment LateInput::segment(const Text& text) const {
  Segment segment{kDocument, text.ids, std::span(positions_).first(text.ids.size())};
  segment.expansion = text.expansion;
  return segment;
}

}  // namespace relucent
