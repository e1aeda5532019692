#pragma once

#include <array>

#include "model/families/family.h"

namespace relucent {

/// BERT with a sequence classification head of one output, plain or with the sparse attention pattern of
/// ListformerModelForSequenceClassification; and its relatives, which differ in names, positions, types and head. Each
/// may have a sparse pattern.
extern const Family kBertFamily, kElectraFamily, kRobertaFamily, kXlmRobertaFamily;

}  // namespace relucent
