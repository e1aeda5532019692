#include "index_tools/corpora/json_elements.h"
#include "index_tools/corpora/json_record.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

class ArgsMeReader : public DocumentReader {
 public:
  explicit ArgsMeReader(const CorpusPart& part)
      : part_(part), arguments_(part.bytes, part.name, part.report, "arguments") {}

  bool next(Document& document) override {
    while (arguments_.next(argument_)) {
      const char* problem = read(document);
      if (problem == nullptr) return true;
      part_.malformed(problem, arguments_.number());
    }
    return false;
  }

 private:
  // The problem with the argument; null if there is none.
  const char* read(Document& document) {
    nlohmann::json record;
    if (const char* problem = parse_json_object(argument_, record)) return problem;
    const auto id = record.find("id");
    if (id == record.end() || !take_id(*id, document.id)) return "no id";
    const auto premises = record.find("premises");
    if (premises == record.end() || !premises->is_array()) return "no premises";
    document.text.clear();
    for (const nlohmann::json& premise : *premises) {
      if (!premise.is_object() || !append_text(premise, "text", document.text)) return "a premise without text";
      document.text += ' ';
    }
    if (premises->empty()) document.text += ' ';
    if (!append_text(record, "conclusion", document.text)) return "no conclusion";
    document.line = arguments_.number();
    return nullptr;
  }

  CorpusPart part_;
  JsonElements arguments_;
  std::string argument_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_argsme(const CorpusPart& part) { return std::make_unique<ArgsMeReader>(part); }

}  // namespace relucent::index_tools
