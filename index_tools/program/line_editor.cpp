#include "index_tools/program/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "index_tools/program/terminal.h"

namespace relucent::program {
namespace {

constexpr int kRemembered = 1000;

bool can_edit() {
  const char* const kind = std::getenv("TERM");
  return is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO) && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

struct LineEditor::State {
  std::string prompt;
  EditLine* editor = nullptr;  // null: lines are read as they are
  History* history = nullptr;
};

namespace {

char* prompt_of(EditLine* editor) {
  LineEditor::State* state = nullptr;
  el_get(editor, EL_CLIENTDATA, &state);
  return state->prompt.data();
}

}  // namespace

LineEditor::LineEditor(std::string prompt) : state_(std::make_unique<State>()) {
  state_->prompt = std::move(prompt);
  if (!can_edit()) return;
  state_->history = history_init();
  state_->editor = el_init("relucent", stdin, stderr, stderr);
  if (state_->history == nullptr || state_->editor == nullptr) return;
  HistEvent event;
  history(state_->history, &event, H_SETSIZE, kRemembered);
  history(state_->history, &event, H_SETUNIQUE, 1);
  el_set(state_->editor, EL_CLIENTDATA, state_.get());
  el_set(state_->editor, EL_PROMPT, &prompt_of);
  el_set(state_->editor, EL_EDITOR, "emacs");
  el_set(state_->editor, EL_HIST, history, state_->history);
  el_set(state_->editor, EL_SIGNAL, 1);  // the terminal's modes are restored before Ctrl-C ends the program
}

LineEditor::~LineEditor() {
  if (state_->editor != nullptr) el_end(state_->editor);
  if (state_->history != nullptr) history_end(state_->history);
}

bool LineEditor::next(std::string& line) {
  if (state_->editor == nullptr || state_->history == nullptr) {
    std::cerr << state_->prompt << std::flush;
    return static_cast<bool>(std::getline(std::cin, line));
  }
  int bytes = 0;
  const char* const typed = el_gets(state_->editor, &bytes);
  if (typed == nullptr || bytes <= 0) return false;
  line.assign(typed, static_cast<std::size_t>(bytes));
  if (line.ends_with('\n')) line.pop_back();
  HistEvent event;
  if (!trim(line).empty()) history(state_->history, &event, H_ENTER, line.c_str());
  return true;
}

}  // namespace relucent::program
