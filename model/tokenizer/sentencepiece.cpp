#include "model/tokenizer/sentencepiece.h"

#include <fmt/core.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file/file_io.h"
#include "base/utf8.h"
#include "model/tokenizer/base64.h"
#include "model/tokenizer/fingerprint.h"
#include "model/tokenizer/pair_template.h"
#include "model/tokenizer/precompiled_charsmap.h"
#include "model/tokenizer/sentencepiece_file.h"
#include "model/tokenizer/text_cuts.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kMaxSentencePieceBytes = std::size_t{256} << 20;

// The library gets at most kMostGiven bytes of normalized text per call. It needs up to 240 bytes of memory for each of
// them, and copies a run of unknown characters once per character: 64 KiB of such characters take 0.2 s, 1 MiB would
// take 50 s. From kLargestBlock on, a text is cut at the next place between two words, if there is one.
constexpr std::size_t kMostGiven = std::size_t{64} << 10, kLargestBlock = kMostGiven / 2;
// A whole text may grow to 256 KiB, or to four times its length. Only rare characters have longer normal forms.
constexpr std::size_t kMostNormalized = std::size_t{256} << 10, kMostGrowth = 4;

// fairseq's ids before the pieces.
constexpr std::int32_t kFairseqStart = 0, kFairseqPad = 1, kFairseqEnd = 2, kFairseqUnknown = 3, kFairseqOffset = 1;

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::filesystem::path& path, std::string_view bytes, const SentencePieceFile& file,
                         std::string_view model_type, const JsonFile* settings)
      : path_(path), fairseq_(model_type == "xlm-roberta"), may_cut_(file.may_cut) {
    if (!file.charsmap.empty()) replacements_ = PrecompiledCharsmap::parse(file.charsmap);
    std::string problem;
    try {
      if (const auto status = processor_.LoadFromSerializedProto(bytes); !status.ok()) problem = status.ToString();
    } catch (const std::exception& error) {  // of its trie
      problem = error.what();
    }
    if (!problem.empty()) {
      throw Error(ErrorKind::invalid_data, path.string(), "the SentencePiece library refuses it: " + problem,
                  "download the file again");
    }
    // The <mask> of XLM-RoBERTa comes last.
    size_ = processor_.GetPieceSize() + (fairseq_ ? kFairseqOffset + 1 : 0);
    pair_ = usual_pair_template(model_type, settings, [this](const std::string& piece) { return special_id(piece); });
    fingerprint_ = Fingerprint().add("SentencePiece 1").add(fairseq_ ? "fairseq" : "").add(bytes).value();
  }

  using Tokenizer::encode;
  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
              const StopSignal& stop) const override {
    const std::size_t most = most_ids(ids.size(), limit);
    std::string storage;
    std::vector<int> pieces;
    std::size_t normalized = 0;  // bytes that the library has made of the text
    for (std::size_t begin = 0, end = 0; begin < text.size() && ids.size() <= most; begin = end) {
      std::size_t made = 0;
      // Longer and longer beginnings until there are enough ids, rather than one block after the other: the library's
      // choice between segmentations of nearly equal score depends on the rounding of its sum so far.
      for (std::size_t block = std::clamp(limit, kUsualBlock, kLargestBlock);;
           block = std::min(4 * block, kLargestBlock)) {
        stop.throw_if_due("tokenizing the documents");
        const std::size_t cut = may_cut_ ? next_cut(text, begin, block) : text.size();
        const Beginning part = possible_block(text, begin, cut);
        end = begin + part.bytes;
        made = part.normalized;
        if (normalized + made > std::max(kMostNormalized, kMostGrowth * text.size())) {
          throw Error(ErrorKind::unsupported, path_.string(), "makes a text many times longer",
                      "use a checkpoint with another tokenizer");
        }
        const auto status = processor_.Encode(well_formed_utf8(text.substr(begin, end - begin), storage), &pieces);
        if (!status.ok()) {
          throw Error(ErrorKind::internal, path_.string(), "the SentencePiece library failed: " + status.ToString());
        }
        if (end == text.size() || block == kLargestBlock || end < cut || pieces.size() > limit) break;
      }
      for (const int id : pieces) ids.push_back(own_id(id));
      normalized += made;
    }
    if (ids.size() <= most) return false;
    ids.resize(most);
    return true;
  }

  const PairTemplate& pair_template() const noexcept override { return pair_; }
  std::int32_t vocabulary_size() const noexcept override { return size_; }
  std::uint64_t fingerprint() const noexcept override { return fingerprint_; }
  std::string summary() const override {
    return fmt::format("SentencePiece, {} pieces ({})", processor_.GetPieceSize(), path_.filename().string());
  }

 private:
  using Beginning = PrecompiledCharsmap::Beginning;

  /// The part of the bytes [begin, end) of `text` that the library may get in one call: at least one character.
  Beginning possible_block(std::string_view text, std::size_t begin, std::size_t end) const noexcept {
    const std::string_view part = text.substr(begin, std::min(end, next_forced_cut(text, begin, kMostGiven)) - begin);
    return replacements_ ? replacements_->beginning_of(part, kMostGiven) : Beginning{part.size(), part.size()};
  }

  std::int32_t own_id(int id) const noexcept {
    if (!fairseq_) return id;
    return id == processor_.unk_id() ? kFairseqUnknown : id + kFairseqOffset;
  }

  std::int32_t special_id(const std::string& piece) const {
    if (fairseq_ && piece == "<s>") return kFairseqStart;
    if (fairseq_ && piece == "<pad>") return kFairseqPad;
    if (fairseq_ && piece == "</s>") return kFairseqEnd;
    const int id = processor_.PieceToId(piece);
    if (id == processor_.unk_id()) {
      throw Error(ErrorKind::invalid_data, path_.string(), fmt::format("has no piece {}", piece),
                  "use the tokenizer files of the same model, or download them again");
    }
    return own_id(id);
  }

  std::filesystem::path path_;
  bool fairseq_, may_cut_;
  std::optional<PrecompiledCharsmap> replacements_;
  sentencepiece::SentencePieceProcessor processor_;
  std::int32_t size_ = 0;
  PairTemplate pair_;
  std::uint64_t fingerprint_ = 0;
};

using Kind = TokenizerClass::Kind;
using Json = nlohmann::json;

/// A token of the list of added ones.
Json added_token(const std::string& text, std::size_t id, bool special) {
  return {{"content", text},     {"id", id},          {"single_word", false}, {"lstrip", false}, {"rstrip", false},
          {"normalized", false}, {"special", special}};
}

/// The model as a tokenizer.json: the vocabulary that a class makes of the pieces, and its added tokens.
Json converted(const SentencePieceFile& file, const TokenizerContext& context) {
  const auto name = [&](const char* key, const char* usual) { return special_token(context.settings, key, usual); };
  Json vocabulary = Json::array(), added = Json::array();
  bool has_extra_ids = false;
  const auto add = [&](std::string_view text, double score) { vocabulary.push_back({std::string(text), score}); };
  const auto add_token = [&](std::string_view text, double score, bool special) {
    added.push_back(added_token(std::string(text), vocabulary.size(), special));
    add(text, score);
  };
  const auto add_special = [&](std::string_view text) { add_token(text, 0, true); };
  const auto add_pieces = [&](std::size_t first) {
    for (std::size_t i = first; i < file.pieces.size(); ++i) {
      using Type = SentencePiecePiece::Type;
      const SentencePiecePiece& piece = file.pieces[i];
      const bool extra = piece.text.starts_with("<extra_id_");
      has_extra_ids = has_extra_ids || extra;
      if (piece.type == Type::control || piece.type == Type::unknown || extra) {
        add_token(piece.text, piece.score, true);
      } else if (piece.type == Type::user_defined) {
        add_token(piece.text, piece.score, false);
      } else {
        add(piece.text, piece.score);
      }
    }
  };
  switch (context.kind) {
    case Kind::xlm_roberta:
      add_special(name("bos_token", "<s>"));
      add_special(name("pad_token", "<pad>"));
      add_special(name("eos_token", "</s>"));
      add_special(name("unk_token", "<unk>"));
      add_pieces(3);
      add_special(name("mask_token", "<mask>"));
      break;
    case Kind::camembert:
      add("<s>NOTUSED", 0);
      add_special(name("pad_token", "<pad>"));
      add("</s>NOTUSED", 0);
      add_special(name("unk_token", "<unk>"));
      add("<unk>NOTUSED", -100);
      add_pieces(1);
      add_special(name("mask_token", "<mask>"));
      break;
    default: {
      add_pieces(0);
      constexpr std::int64_t kUsual = 100, kMost = 1 << 16;
      std::int64_t extra = kUsual;
      if (context.settings != nullptr) extra = context.settings->integer("extra_ids", 0, kMost).value_or(kUsual);
      for (std::int64_t i = has_extra_ids ? 0 : extra; i-- > 0;) add_special(fmt::format("<extra_id_{}>", i));
    }
  }
  Json document = {{"added_tokens", added},
                   {"model", {{"type", "Unigram"}, {"vocab", std::move(vocabulary)}, {"unk_id", 3U}}}};
  if (!file.charsmap.empty()) {
    document["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(file.charsmap)}};
  }
  return document;
}

/// DeBERTa's model as a tokenizer.json: the ids of the pieces are those of the model, and [MASK] follows them.
Json converted_of_deberta(const SentencePieceFile& file, const JsonFile* settings) {
  const auto flag = [&](const char* key) { return settings != nullptr && settings->boolean(key).value_or(false); };
  const auto typed = [](const char* type, Json fields = Json::object()) {
    fields["type"] = type;
    return fields;
  };
  const std::string cls = special_token(settings, "cls_token", "[CLS]"),
                    sep = special_token(settings, "sep_token", "[SEP]"),
                    mask = special_token(settings, "mask_token", "[MASK]");
  Json vocabulary = Json::array(), added = Json::array(), names = Json::object();
  std::size_t unknown = 0;
  const auto add = [&](const std::string& text, float score, bool is_added, bool special) {
    const std::size_t id = vocabulary.size();
    vocabulary.push_back({text, score});
    if (text == cls || text == sep) names[text] = {{"id", text}, {"ids", {id}}, {"tokens", {text}}};
    if (is_added) added.push_back(added_token(text, id, special));
  };
  bool has_mask = false;
  for (const SentencePiecePiece& piece : file.pieces) {
    using Type = SentencePiecePiece::Type;
    if (piece.type == Type::unknown) unknown = vocabulary.size();
    has_mask = has_mask || piece.text == mask;
    const bool special = piece.type == Type::control || piece.type == Type::unknown;
    add(std::string(piece.text), piece.score, special || piece.type == Type::user_defined, special);
  }
  if (!has_mask) add(mask, 0, true, true);

  Json normalizers = Json::array(), parts = Json::array();
  if (flag("do_lower_case")) normalizers.push_back(typed("Lowercase"));
  normalizers.push_back(typed("Strip", {{"strip_left", true}, {"strip_right", true}}));
  if (!file.charsmap.empty()) {
    normalizers.push_back(typed("Precompiled", {{"precompiled_charsmap", encode_base64(file.charsmap)}}));
  }
  normalizers.push_back(typed("Replace", {{"pattern", {{"Regex", " {2,}"}}}, {"content", " "}}));
  if (flag("split_by_punct")) parts.push_back(typed("Punctuation", {{"behavior", "Isolated"}}));
  parts.push_back(typed("Metaspace", {{"replacement", "\xE2\x96\x81"}, {"prepend_scheme", "always"}, {"split", true}}));
  const auto token = [](const std::string& name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", static_cast<unsigned>(type)}}}};
  };
  const auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", static_cast<unsigned>(type)}}}};
  };
  return {{"added_tokens", added},
          {"normalizer", typed("Sequence", {{"normalizers", normalizers}})},
          {"pre_tokenizer", typed("Sequence", {{"pretokenizers", parts}})},
          {"post_processor", typed("TemplateProcessing",
                                   {{"single", {token(cls, 0), text("A", 0), token(sep, 0)}},
                                    {"pair", {token(cls, 0), text("A", 0), token(sep, 0), text("B", 1), token(sep, 1)}},
                                    {"special_tokens", names}})},
          {"model", typed("Unigram", {{"vocab", std::move(vocabulary)}, {"unk_id", unknown}})}};
}

}  // namespace

JsonTokenizer read_sentencepiece(const std::filesystem::path& path, TokenizerContext context) {
  const std::string bytes = read_file(path, kMaxSentencePieceBytes);
  const SentencePieceFile file = check_sentencepiece_file(path, bytes);
  if (context.model_type == "deberta-v2") {
    if (!file.unigram) {
      throw Error(ErrorKind::unsupported, path.string(), "is not a Unigram model",
                  "use a checkpoint with tokenizer.json");
    }
    return make_tokenizer({path, JsonTree(converted_of_deberta(file, context.settings)),
                           Fingerprint().add("deberta 1").add(bytes).value()},
                          context);
  }
  const bool convertible =
      context.kind == Kind::xlm_roberta || context.kind == Kind::camembert || context.kind == Kind::t5;
  if (file.unigram && convertible) {
    return make_tokenizer(
        {path, JsonTree(converted(file, context)), Fingerprint().add("converted 1").add(bytes).value()}, context);
  }
  return {std::make_unique<SentencePieceTokenizer>(path, bytes, file, context.model_type, context.settings)};
}

}  // namespace relucent
