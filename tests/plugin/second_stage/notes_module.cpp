// A module with a kind of input of its own and a scorer that reads it, built with the public headers alone. A document
// of an index has its note on a line of DIR/notes.txt; the note of a text from elsewhere is the text's last word.
#include <relucent/scorer.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using relucent::Error;
using relucent::ErrorKind;

constexpr std::string_view kNote = "note";

class Notes : public relucent::InputSource {
 public:
  explicit Notes(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  std::optional<std::string> read(const relucent::InputDocument& document, const relucent::StopSignal&) const override {
    if (document.number < 0) return std::string(document.text.substr(document.text.rfind(' ') + 1));
    return lines_.at(static_cast<std::size_t>(document.number));
  }

 private:
  std::vector<std::string> lines_;
};

class NoteKind : public relucent::InputKind {
 public:
  explicit NoteKind(relucent::InputRole role) : role_(role) {}
  std::string_view name() const override { return kNote; }
  relucent::InputRole role() const override { return role_; }
  std::shared_ptr<const relucent::InputSource> open(const std::shared_ptr<const relucent::InputIndex>& index,
                                                    const relucent::StageConfig&) const override {
    std::vector<std::string> lines;
    std::ifstream file(index->folder() / "notes.txt");
    if (index->has_candidates() && !file) {
      throw Error(ErrorKind::io, (index->folder() / "notes.txt").string(), "is missing", "write a line per document");
    }
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return std::make_shared<Notes>(std::move(lines));
  }

 private:
  relucent::InputRole role_;
};

/// The number in the note. [rescorer] model names the role: "instead" of texts, or in addition to them.
class NoteScorer : public relucent::Scorer {
 public:
  explicit NoteScorer(const relucent::ScorerConfig& config)
      : instead_(config.model.ends_with("instead")),
        kind_(std::make_shared<NoteKind>(instead_ ? relucent::InputRole::instead : relucent::InputRole::addition)) {}

  void score(std::string_view, std::span<const relucent::Candidate> candidates,
             std::span<relucent::CandidateScore> scores, const relucent::StopSignal&) const override {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto note = candidates[i].input(kNote);
      if (!note) throw Error(ErrorKind::unsupported, candidates[i].id, "has no note");
      if (!instead_ && candidates[i].text.empty()) throw Error(ErrorKind::internal, candidates[i].id, "has no text");
      scores[i].score = std::strtof(std::string(*note).c_str(), nullptr);
    }
  }
  relucent::InputKinds inputs() const override { return {kind_}; }
  bool cacheable() const override { return true; }
  std::string describe() const override { return "the number in the note"; }

 private:
  bool instead_;
  std::shared_ptr<const NoteKind> kind_;
};

}  // namespace

RELUCENT_SCORER_MODULE(NoteScorer)
