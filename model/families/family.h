#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/pair_lengths.h"
#include "model/families/tensor_reader.h"
#include "model/formats/json_file.h"
#include "model/graphs/document_graph.h"
#include "relucent/kernels/encoder.h"
#include "relucent/kernels/max_sim.h"

namespace relucent {

/// How a document is split into passages that are scored together, in word pieces.
struct PassageSplit {
  std::int32_t window = 225, stride = 200;
  std::int32_t most = 16;  ///< passages that are read
};

/// How a query and a document become a model's input: [CLS] query [SEP] document [SEP], with what differs. [CLS] and
/// [SEP] are the tokenizer's, whatever it calls them.
struct InputForm {
  /// What to judge by, for models that are told: a text between two others, which together replace the last one of
  /// before_query. Without one, and without a usual one, before_query stays.
  struct Instruction {
    std::string before = {}, after = {}, usual = {};
  };

  std::int32_t separators = 1;      ///< [SEP] after the query; they belong to the query's group
  std::int32_t first_position = 0;  ///< of [CLS]
  /// The document's token type, unless its tokenizer gives another one (`typed`); everything else has type 0.
  std::int32_t document_type = 0;
  bool typed = false;  ///< the model has embeddings of token types
  /// Words of a prompt, tokenized one by one; after_document stands before [SEP]. In a chat "<|im_start|>" and the like
  /// are tokens.
  std::vector<std::string> before_query, after_query, before_document, after_document;
  std::string query_start, query_end, document_start;  ///< words tokenized together with the text
  Instruction instruction = {};                        ///< of a chat
  bool chat = false;  ///< a decoder's input: there are no special tokens but those of the prompt
  /// If set, the first group is not [CLS] but the token with this id that a decoder starts with, apart from the text.
  std::optional<std::int32_t> decoder_start;
  std::vector<std::string> outputs;      ///< words of the vocabulary whose outputs the head compares
  PairCut cut = PairCut::longest_first;  ///< of an input that is too long
  std::int32_t query_limit = 0;          ///< the most word pieces of a query; 0: as many as fit
  bool interacts = false;                ///< behind [CLS] stands the token through which candidates see each other
  std::int32_t most_candidates = 0;      ///< of an encoder of sets: how many are scored together; 0: of another encoder
  std::int32_t document_limit = 0;       ///< the most word pieces of a document, or a chunk of it; 0: as many as fit
  /// What is read of a document, and how, does not depend on the query: its positions also start at first_position, and
  /// its pieces have the places that a query of query_limit pieces leaves.
  bool apart = false;
  /// If set, each passage of a document is an input, and a score is of all of them.
  std::optional<PassageSplit> split = std::nullopt;
};

/// What of each other pivots see: what their graph links, themselves alone, or all of their view.
enum class PivotLinks { graph, none, all };

/// How MIR reads a query and a document: in passages [PSG] query ([SNT] pieces of a sentence)+.
struct PassageForm {
  /// Views of a document that exchange pivots: those of passages, sentences and tokens, in this order.
  struct View {
    std::int32_t number = 0;  ///< 0, 1, 2
    PivotLinks links = PivotLinks::graph;
  };
  GraphSettings graphs;
  std::int32_t max_query_tokens = 30;
  std::int32_t passage_token = 0, sentence_token = 0;  ///< ids of [PSG] and [SNT]
  std::vector<View> views = {{0}, {1}, {2}};
  bool shares_layers = false;                     ///< pivots pass through the layers of the tokens
  std::optional<GraphOrigins> trained_with = {};  ///< if config.json states it
};

/// Which weights of a family have biases.
struct Biases {
  bool attention = true, feed_forward = true, norm = true, head = true;
};

/// What a MixEncoder's config.json contains besides its description.
struct MixForm {
  std::int32_t query_max_length = 0, candidate_max_length = 0;  ///< tokens, with [CLS] and [SEP]
};

/// How a model of late interaction, or one with a vector per text, reads and compares texts: [CLS] marker words [SEP].
struct LateForm {
  struct Side {
    std::int32_t length = 0;                ///< tokens, with the special ones
    std::string marker = {};                ///< a token's name; empty: none
    bool skips_punctuation = false;         ///< the tokens of ASCII's punctuation do not score
    std::vector<std::string> skipped = {};  ///< names of tokens that do not score
    std::string prompt = {};                ///< stands before the text
    bool first_only = false;                ///< the first token alone scores
  };
  Side query, document;
  bool expands = false;         ///< [MASK] fills a query up to its length
  bool sees_expansion = false;  ///< whether the query's tokens see these
  MaxSimQuery::Over over = MaxSimQuery::Over::sum;
  std::string projection = {};  ///< the name of its tensors; empty: they are in a file of their own
  bool projection_bias = false;
  /// For one vector per text (Head::per_text): what follows its pooling, and whether it is divided by its length.
  std::vector<HeadStep> steps = {};
  std::vector<HeadStepWeights> step_weights = {};
  bool unit_vectors = false;
  std::int32_t first_position = 0;  ///< of [CLS]
  /// Poly-Encoder: a query's vectors are so many, each the mean of its tokens' weighed by a learnt code.
  std::int32_t query_codes = 0;
};

inline constexpr std::int32_t kMostLabels = 1000;  ///< of a head that classifies

/// What a model family reads from config.json.
struct FamilyConfiguration {
  std::string architecture;
  EncoderDescription description;
  InputForm input;
  std::optional<PassageForm> passages;  ///< if set, the input is not `input` but this: the model scores with graphs
  Biases biases;
  bool norm_of_positions = false, shared_positions = false;  ///< of disentangled attention: its norm, its projections
  bool tied = false;                                         ///< the rows of the words' outputs are their embeddings
  /// The matrix of the head whose rows are its outputs, if config.json does not state how many there are: one or two.
  std::string counted_head = {};
  /// The linear map that is the whole head of a file that has its matrix and not the usual head's (monoELECTRA).
  std::string linear_head = {};
  bool separate_head = false;   ///< its weights are not in the file of the others: read_weights leaves it out
  std::int32_t max_tokens = 0;  ///< the longest input that the model can take
  /// The names of the outputs, if the head classifies.
  std::vector<std::string> labels = {};
  std::optional<MixForm> mix;  ///< of a MixEncoder
  std::optional<LateForm> late = {};
  /// The last ids of the description's vocabulary, which stand for no text.
  std::int32_t special_ids = 0;
  std::vector<std::string> ignored_keys;
};

/// The weights a family finds in a safetensors file.
struct FamilyWeights {
  EncoderWeights weights;
  std::vector<std::string> used;          ///< names of the tensors
  std::vector<float> query_codes;         ///< [LateForm::query_codes, hidden]
  std::string position_table;             ///< the tensor with one row per position; empty: none
  std::vector<std::string> per_position;  ///< buffers that merely number the positions
};

/// A model family: how to read its checkpoints into the description and weights that backends run. A new family
/// is a file next to bert.cpp and a row in family.cpp.
struct Family {
  std::string_view model_type;                      ///< config.json's `model_type`
  std::span<const std::string_view> architectures;  ///< that it reads, the usual one last; empty: it does not look

  /// Throws Error `invalid_data` for an impossible value, `unsupported` for an unknown architecture or key; both
  /// name the file and the key.
  FamilyConfiguration (*read_configuration)(const JsonFile& config);

  /// `outputs`: the ids of InputForm::outputs. Throws Error naming the file and the tensor: `invalid_data` if a tensor
  /// is missing or its shape does not match the description, `unsupported` if backends do not know its type. With a
  /// reader that keeps the faults, the weights are incomplete if it failed.
  FamilyWeights (*read_weights)(TensorReader& reader, const FamilyConfiguration& configuration,
                                std::span<const std::int32_t> outputs);
  bool late_interaction = false;
};

/// Gives every layer another window: replaces the windows that there are, and the views of a document on itself.
void set_window(EncoderDescription& description, const View& view);

/// The family of a config.json and the files next to it. Throws Error `unsupported` for an unknown model type.
const Family& find_family(const JsonFile& config);

}  // namespace relucent
