#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/families/config_reader.h"
#include "model/families/family.h"

namespace relucent {

// What other families take from BERT.

/// Reads sizes into `description`; returns the layers, without views.
std::vector<Layer> read_bert_form(ConfigReader& config, EncoderDescription& description);
/// The same for passages that are encoded with the query and scored together: without a sparse pattern, with one label
/// and a token type for documents. Throws Error for others.
std::vector<Layer> read_passage_layers(ConfigReader& config, EncoderDescription& description);

/// Reads the tables that the description has and the norm, PREFIXembeddings.*; `vocabulary`: rows of the table of
/// words.
void read_bert_embeddings(TensorReader& reader, const std::string& prefix, std::int64_t vocabulary,
                          const EncoderDescription& description, FamilyWeights& weights);

/// Reads the layer `layer`attention.self.query.weight and so on; `projection` follows "query", "key" and "value".
LayerWeights read_bert_layer(TensorReader& reader, const std::string& layer, std::int64_t hidden, std::int64_t inner,
                             std::string_view projection = "");

/// Reads the layers PREFIXencoder.layer.N.* of the description's first stack.
StackWeights read_bert_layers(TensorReader& reader, const std::string& prefix, const EncoderDescription& description);

/// Reads the layers LAYERN.* of a list of this form.
std::vector<LayerWeights> read_bert_layers(TensorReader& reader, const std::string& layer,
                                           const std::vector<Layer>& form, std::int64_t hidden);

/// Reads a head of a dense layer and one output, unless the checkpoint has a separate one, and finishes `weights`.
void read_dense_head(TensorReader& reader, const FamilyConfiguration& configuration, std::string_view dense,
                     std::string_view output, FamilyWeights& weights);

/// Reads what stands before the head: embeddings, the projection of small ones and the layers. Tensors may have the
/// prefix `prefix` or none.
FamilyWeights read_bert_encoder(TensorReader& reader, const std::string& prefix, const EncoderDescription& description);

}  // namespace relucent
