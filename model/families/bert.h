#pragma once

#include "model/families/family.h"

namespace relucent {

FamilyConfiguration read_bert_configuration(const JsonFile& config);
FamilyWeights read_bert_weights(const SafetensorsFile& file, const EncoderDescription& description);

/// BERT with a sequence classification head of one output, plain or with the sparse attention pattern of
/// ListformerModelForSequenceClassification.
inline constexpr Family kBertFamily{"bert", read_bert_configuration, read_bert_weights};

}  // namespace relucent
