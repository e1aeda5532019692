#pragma once

#include "model/families/family.h"

namespace relucent {

/// MIR: BERT on overlapping passages of a document, whose pivots exchange information after each layer along three
/// graphs (FamilyConfiguration::passages). (Fu et al., "Leveraging Multi-view Inter-passage Interactions for Neural
/// Document Ranking", WSDM 2022.)
extern const Family kMirFamily;

/// Its groups of pivots, if it has all views, behind C = {[PSG]}, Q = the query and D = pieces of the document and
/// [SNT]: [PSG], [SNT], and the pieces of mentions.
inline constexpr std::int32_t kPassagePivots = 3, kSentencePivots = 4, kTokenPivots = 5;

}  // namespace relucent
