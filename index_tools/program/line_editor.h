#pragma once

#include <memory>
#include <string>

namespace relucent::program {

/// Lines from standard input after a prompt on standard error, for a person at a terminal, who can edit them and recall
/// earlier ones with the arrow keys. At most one at a time, and no other reader of standard input next to it.
class LineEditor {
 public:
  explicit LineEditor(std::string prompt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Reads the next line, without its end. False at the end of the input.
  bool next(std::string& line);

  struct State;  // libedit's callbacks need its name

 private:
  std::unique_ptr<State> state_;
};

}  // namespace relucent::program
