#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace relucent::index_tools {

/// Collections of dialogues whose next utterance is to be chosen among some: MixEncoder's paper ranks them.
enum class DialogueFormat {
  ubuntu_v2,  ///< test.csv and valid.csv of the Ubuntu Dialogue Corpus v2: a context, the answer and nine distractors
  dstc7,      ///< JSON of DSTC 7, track 1, subtask 1: messages so far, options for next, and the correct answers
};

/// A dialogue and its candidates.
struct Dialogue {
  std::string id;       ///< the example's, or its number, from 1
  std::string context;  ///< all utterances so far, joined by spaces
  struct Candidate {
    std::string id, text;
    bool correct = false;
  };
  std::vector<Candidate> candidates;
};

/// Reads a file, plain or compressed, and calls use() with each dialogue. Throws Error `invalid_data` naming the file
/// and the line, or the number of the dialogue, for one without a context, without candidates, or whose answer is not
/// among them; `io` for a file that cannot be read.
void read_dialogues(const std::filesystem::path& file, DialogueFormat format,
                    const std::function<void(const Dialogue&)>& use);

}  // namespace relucent::index_tools
