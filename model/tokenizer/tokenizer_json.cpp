#include "model/tokenizer/tokenizer_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/file/file_io.h"
#include "base/utf8.h"
#include "model/tokenizer/component.h"
#include "model/tokenizer/fingerprint.h"
#include "model/tokenizer/pair_template.h"
#include "model/tokenizer/pipeline.h"
#include "model/tokenizer/wordpiece.h"
#include "relucent/error.h"

namespace relucent {
namespace {

/// Change this whenever the same file no longer gives the same ids.
constexpr std::string_view kJsonAlgorithm = "tokenizer.json 1";
constexpr std::size_t kMaxTokenizerJsonBytes = std::size_t{256} << 20;

/// How many components a part of the document has, nested ones included.
std::size_t count_components(const nlohmann::json& value) {
  std::size_t count = value.is_object() && value.contains("type") ? 1 : 0;
  for (const nlohmann::json& each : value) count += each.is_structured() ? count_components(each) : 0;
  return count;
}

/// What a class may change: all but the vocabulary.
nlohmann::json components_of(const nlohmann::json& document) {
  nlohmann::json components;
  for (const char* key : {"normalizer", "pre_tokenizer"}) {
    if (document.contains(key)) components[key] = document[key];
  }
  if (!document.contains("model") || !document["model"].is_object()) return components;
  for (const auto& [key, value] : document["model"].items()) {
    if (key != "vocab" && key != "merges") components["model"][key] = value;
  }
  return components;
}

class Reader {
 public:
  Reader(TokenizerSource source, const TokenizerContext& context)
      : path_(source.path),
        context_(context),
        fingerprint_(source.fingerprint),
        document_(by_class(std::move(source.document))),
        root_(path_, *document_, ""),
        model_(root_.at("model")) {}

  std::optional<std::int32_t> document_type() const { return document_type_; }
  bool states_template() const { return states_template_; }

  std::unique_ptr<const Tokenizer> read() {
    for (const char* name : {"normalizer", "pre_tokenizer", "post_processor"}) check_components(name);
    const std::string type = model_.string("type", model_.find("merges") ? "BPE" : "WordPiece");  // early files omit it
    if (type == "Unigram") {
      vocabulary_ = read_unigram_vocabulary(model_);
    } else if (type == "WordPiece" || type == "BPE") {
      vocabulary_.entries = read_vocabulary(model_);
    } else {
      model_.at("type").refuse(fmt::format("the tokenizer {} is not supported", type));
    }
    read_added_tokens();
    add_further_tokens();
    PipelineParts parts;
    parts.pair = pair_template();
    if (const auto sentence = ids_.find("[SOS]"); sentence != ids_.end()) parts.pair.sentence = sentence->second;
    // The first upload of webis/set-encoder-base calls it [DOC].
    for (const char* name : {"[DOC]", "[INT]"}) {
      if (const auto token = ids_.find(name); token != ids_.end()) parts.pair.interaction = token->second;
    }
    if (type == "WordPiece" && is_uncased_bert(parts.pair)) return uncased_bert(parts.pair);

    if (const auto part = root_.find("normalizer")) parts.normalizer = read_normalizer(*part);
    if (const auto part = root_.find("pre_tokenizer")) parts.pre_tokenizer = read_pre_tokenizer(*part);
    parts.model = read_model(type);
    parts.added = added_;
    parts.vocabulary_size = size();
    parts.fingerprint = fingerprint_;
    parts.summary = fmt::format("{}, {} entries ({})", type, parts.vocabulary_size, path_.filename().string());
    return std::make_unique<PipelineTokenizer>(std::move(parts));
  }

 private:
  /// The document as the tokenizer's class has it.
  JsonTree by_class(JsonTree document) {
    if (context_.kind == TokenizerClass::Kind::file || !document->is_object()) return document;
    const nlohmann::json before = components_of(*document);
    apply_class(context_.kind, context_.settings, *document);
    const nlohmann::json after = components_of(*document);
    if (after != before) fingerprint_ = Fingerprint().add(std::to_string(fingerprint_)).add(after.dump()).value();
    return document;
  }

  std::unique_ptr<const TokenModel> read_model(const std::string& type) const {
    if (type == "WordPiece") return read_wordpiece_model(model_, vocabulary_.entries);
    if (type == "BPE") return read_bpe_model(model_, vocabulary_.entries);
    std::vector<std::string> special;
    for (const AddedToken& token : added_) {
      if (token.special) special.push_back(token.content);
    }
    return read_unigram_model(model_, vocabulary_, special);
  }

  /// Each component may take memory, and time for every text.
  void check_components(const char* name) const {
    constexpr std::size_t kMost = 256;
    const auto part = root_.find(name);
    if (part && count_components(part->value()) > kMost) part->refuse("has more than 256 components");
  }

  std::int32_t size() const {
    auto size = static_cast<std::int32_t>(vocabulary_.entries.size());
    for (const AddedToken& token : added_) size = std::max(size, token.id + 1);
    return size;
  }

  void read_added_tokens() {
    for (std::size_t id = 0; id < vocabulary_.entries.size(); ++id) {
      ids_[vocabulary_.entries[id]] = static_cast<std::int32_t>(id);
    }
    if (!root_.find("added_tokens")) return;
    std::size_t bytes = 0;
    std::unordered_map<std::int32_t, std::string> contents;
    for (const Component& part : root_.elements("added_tokens")) {
      const AddedToken token{part.string("content"),      static_cast<std::int32_t>(part.integer("id", kMaxTokenId)),
                             part.boolean("single_word"), part.boolean("lstrip"),
                             part.boolean("rstrip"),      part.boolean("normalized"),
                             part.boolean("special")};
      if (token.content.empty() || !is_well_formed_utf8(token.content)) part.fail("has no content");
      if (token.content.size() > VocabularyTrie::kMaxEntryBytes) part.refuse("is longer than 1024 bytes");
      const auto [known, is_new] = ids_.try_emplace(token.content, token.id);
      if (known->second != token.id) {
        part.fail(fmt::format("\"{}\" has the id {}, but also {}", token.content, token.id, known->second));
      }
      const auto place = static_cast<std::size_t>(token.id);
      const bool taken = is_new && place < vocabulary_.entries.size() && !vocabulary_.entries[place].empty();
      if (taken || !contents.try_emplace(token.id, token.content).second) {
        part.fail(fmt::format("uses the id {} again", token.id));
      }
      bytes += token.content.size();
      added_.push_back(token);
    }
    const std::size_t entries = vocabulary_.entries.size() + added_.size(), largest = static_cast<std::size_t>(size());
    if (!is_plausible_id(largest, entries)) {
      root_.at("added_tokens").fail(fmt::format("has the id {}, but there are only {} entries", largest - 1, entries));
    }
    if (bytes > VocabularyTrie::kMaxBytes) root_.at("added_tokens").refuse("the tokens are larger than 16 MiB");
  }

  void add_further_tokens() {
    Fingerprint fingerprint;
    fingerprint.add(std::to_string(fingerprint_));
    bool changed = false;
    std::unordered_map<std::string, std::size_t> places;  // in added_
    for (std::size_t i = 0; i < added_.size(); ++i) places.emplace(added_[i].content, i);
    std::int32_t next = size();
    for (AddedToken token : context_.added) {
      const auto [known, is_new] = ids_.try_emplace(token.content, next);
      if (is_new) ++next;
      token.id = known->second;
      if (const auto [place, is_first] = places.try_emplace(token.content, added_.size()); is_first) {
        added_.push_back(token);
      } else if (context_.kind != TokenizerClass::Kind::file) {
        added_[place->second] = token;
      }
      if (token.special) continue;  // text like any other
      changed = true;
      fingerprint.add(fmt::format("{} {} {} {} {} {}", token.id, token.single_word, token.lstrip, token.rstrip,
                                  token.normalized, token.content));
    }
    if (changed) fingerprint_ = fingerprint.value();
  }

  std::int32_t find_entry(const std::string& entry) const {
    const auto found = ids_.find(entry);
    if (found == ids_.end()) {
      throw Error(ErrorKind::invalid_data, path_.string(), "the vocabulary has no entry " + entry,
                  "use the tokenizer files of the same model, or download them again");
    }
    return found->second;
  }

  PairTemplate pair_template() {
    const FindEntry find = [this](const std::string& entry) { return find_entry(entry); };
    if (context_.kind != TokenizerClass::Kind::file) {
      document_type_ = context_.kind == TokenizerClass::Kind::bert ? 1 : 0;
      return class_template(context_.kind, context_.settings, find);
    }
    if (const auto part = root_.find("post_processor")) {
      if (auto pair = read_post_processor(*part)) return *pair;
    }
    states_template_ = false;
    return usual_pair_template(context_.model_type, context_.settings, find);
  }

  /// nullopt for a processor that adds no special tokens.
  std::optional<PairTemplate> read_post_processor(const Component& part) {
    const std::string type = part.type();
    if (type == "TemplateProcessing") return read_template(part);
    if (type == "ByteLevel") return std::nullopt;
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      const std::int32_t cls = named_id(part.at("cls")), sep = named_id(part.at("sep"));
      document_type_ = type == "BertProcessing" ? 1 : 0;
      if (type == "BertProcessing") return PairTemplate{{cls}, {sep}, {sep}};
      return PairTemplate{{cls}, {sep, sep}, {sep}};
    }
    if (type == "Sequence") {
      std::optional<PairTemplate> result;
      for (const Component& each : part.elements("processors")) {
        auto pair = read_post_processor(each);
        if (pair && result) each.refuse("several templates are not supported");
        if (pair) result = std::move(pair);
      }
      return result;
    }
    part.at("type").refuse(fmt::format("the post-processor {} is not supported", type));
  }

  /// The id of ["[SEP]", 102].
  std::int32_t named_id(const Component& part) const {
    if (!part.value().is_array() || part.value().size() != 2) part.fail("is not a token with its id");
    return static_cast<std::int32_t>(Component(path_, part.value()[1], part.place() + "[1]").integer(size() - 1));
  }

  PairTemplate read_template(const Component& part) {
    PairTemplate pair;
    const std::array<std::vector<std::int32_t>*, 3> places{&pair.before, &pair.between, &pair.after};
    constexpr std::size_t kMostSpecial = 64;
    std::size_t place = 0;
    std::set<std::int64_t> types_before, types_of_document;
    for (const Component& element : part.elements("pair")) {
      const bool document = place == 2 || (place == 1 && element.find("Sequence"));
      const Component content = element.at(element.find("Sequence") ? "Sequence" : "SpecialToken");
      constexpr std::int64_t kMostTypes = 1 << 16;
      const std::int64_t type = content.find("type_id") ? content.integer("type_id", kMostTypes) : 0;
      (document ? types_of_document : types_before).insert(type);
      if (const auto sequence = element.find("Sequence")) {
        if (place == 2 || sequence->string("id") != (place == 0 ? "A" : "B")) {
          sequence->refuse("the order of the sequences is not supported");
        }
        ++place;
        continue;
      }
      const Component tokens = part.at("special_tokens").at(element.at("SpecialToken").string("id"));
      for (const Component& id : tokens.elements("ids")) {
        places[place]->push_back(static_cast<std::int32_t>(id.integer(size() - 1)));
      }
      if (pair.size() > kMostSpecial) part.at("pair").refuse("has more than 64 special tokens");
    }
    if (place != 2) part.at("pair").fail("does not have the sequences A and B");
    document_type_.reset();
    if (types_before == std::set<std::int64_t>{0} && types_of_document.size() == 1) {
      document_type_ = static_cast<std::int32_t>(*types_of_document.begin());
    }
    return pair;
  }

  /// Whether WordPieceTokenizer, which is faster, gives the same ids.
  bool is_uncased_bert(const PairTemplate& pair) const {
    const auto is = [](const std::optional<Component>& part, const char* key, const nlohmann::json& wanted) {
      return part && part->value().contains(key) && part->value().at(key) == wanted;
    };
    const auto normalizer = root_.find("normalizer"), pre_tokenizer = root_.find("pre_tokenizer");
    const std::optional<Component> model = model_;
    return is(normalizer, "type", "BertNormalizer") && is(normalizer, "clean_text", true) &&
           is(normalizer, "handle_chinese_chars", true) && is(normalizer, "lowercase", true) &&
           normalizer->boolean("strip_accents", true) && is(pre_tokenizer, "type", "BertPreTokenizer") &&
           is(model, "continuing_subword_prefix", "##") && is(model, "max_input_chars_per_word", 100) &&
           pair.before.size() == 1 && pair.between.size() == 1 && pair.after == pair.between &&
           std::all_of(added_.begin(), added_.end(), [](const AddedToken& token) { return token.special; });
  }

  std::unique_ptr<const Tokenizer> uncased_bert(const PairTemplate& pair) const {
    WordPieceVocabulary vocabulary;
    vocabulary.entries = vocabulary_.entries;
    vocabulary.entries.resize(static_cast<std::size_t>(size()));
    vocabulary.cls = pair.before[0];
    vocabulary.sep = pair.between[0];
    vocabulary.sentence = pair.sentence;
    vocabulary.interaction = pair.interaction;
    for (const AddedToken& token : added_) vocabulary.added.emplace(token.content, token.id);
    vocabulary.unknown = find_entry(model_.string("unk_token"));
    vocabulary.source = path_.filename().string();
    return std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
  }

  const std::filesystem::path& path_;
  const TokenizerContext& context_;
  std::uint64_t fingerprint_;
  JsonTree document_;
  Component root_, model_;
  std::optional<std::int32_t> document_type_ = 0;
  bool states_template_ = true;
  UnigramVocabulary vocabulary_;  // of another model: only the entries
  std::vector<AddedToken> added_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

}  // namespace

TokenizerSource read_tokenizer_json(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, kMaxTokenizerJsonBytes);
  return {path, read_tokenizer_document(path, bytes), Fingerprint().add(kJsonAlgorithm).add(bytes).value()};
}

JsonTokenizer make_tokenizer(TokenizerSource source, const TokenizerContext& context) {
  Reader reader(std::move(source), context);
  auto tokenizer = reader.read();
  return {std::move(tokenizer), reader.document_type(), reader.states_template()};
}

}  // namespace relucent
