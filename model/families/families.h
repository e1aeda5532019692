#pragma once

#include "model/families/family.h"

namespace relucent {

// The families, each in a file of its own; family.cpp lists them all.

/// BERT with a sequence classification head of one output, plain or with the sparse attention pattern of
/// ListformerModelForSequenceClassification; and its relatives, which differ in names, positions, types and head. Each
/// may have a sparse pattern.
extern const Family kBertFamily, kElectraFamily, kRobertaFamily, kXlmRobertaFamily, kCamembertFamily;
/// DeFormer: a BERT in whose lower layers [CLS] and the query see only each other, and the document only itself. (Cao
/// et al., "DeFormer: Decomposing Pre-trained Transformers for Faster Question Answering", ACL 2020.)
extern const Family kDeformerFamily;

/// DeBERTa-v2 and -v3 with a sequence classification head of one output: BERT whose attention also compares contents
/// with relative positions. Source: He et al., "DeBERTa", ICLR 2021 (arXiv 2006.03654) and arXiv 2111.09543.
extern const Family kDebertaFamily;

/// Alibaba's NewModel with a sequence classification head of one output (gte-multilingual-reranker): BERT with rotary
/// positions and a gated feed-forward. Source: Zhang et al., "mGTE", EMNLP 2024 industry track (arXiv 2407.19669). The
/// other family is the same network, as transformers' own class saves it.
extern const Family kAlibabaGteFamily, kGteFamily;

/// ColBERT in the layouts of Lightning IR, whose config.json tells all; of colbert-ai, with artifact.metadata; and of
/// PyLate, with config_sentence_transformers.json and the projection in a module of its own.
extern const Family kLightningColFamily, kColbertFamily, kPylateBertFamily, kPylateModernBertFamily;
/// Poly-Encoder (arXiv 1905.01969), as the baseline of MixEncoder's paper: one BERT for queries and candidates.
extern const Family kPolyEncoderFamily;
/// Whether a config.json of the family's model type, with the files next to it, is one of its checkpoints and not an
/// encoder of another kind. Throws Error `io` or `invalid_data`.
bool is_late_interaction(const JsonFile& config, const Family& family);

/// MIR: BERT on overlapping passages of a document, whose pivots exchange information after each layer along three
/// graphs (FamilyConfiguration::passages). (Fu et al., "Leveraging Multi-view Inter-passage Interactions for Neural
/// Document Ranking", WSDM 2022.)
extern const Family kMirFamily;
/// Its groups of pivots, if it has all views, behind C = {[PSG]}, Q = the query and D = pieces of the document and
/// [SNT]: [PSG], [SNT], and the pieces of mentions.
inline constexpr std::int32_t kPassagePivots = 3, kSentencePivots = 4, kTokenPivots = 5;

/// MixEncoder (EMNLP 2023): a BERT that encodes queries and candidates apart, and a few layers in which a candidate's
/// context sees the query.
extern const Family kMixEncoderFamily;

/// ModernBERT with a sequence classification head of one output: rotary positions, gated feed-forward, norms before
/// the sub-blocks, and layers that alternate between the whole input and a window on it.
extern const Family kModernBertFamily;

/// Lightning IR's cross-encoders: an encoder of the form of BERT or ELECTRA, and one linear layer. Source:
/// lightning-ir 0.0.6, MonoModel.
extern const Family kMonoFamily;
/// The same under the name that older versions write.
extern const Family kLightningCrossEncoderFamily;
/// Set-Encoder: candidates that see each other through one token each. Source: SetEncoderModel. The second one is the
/// name that older versions write, without a backbone_model_type.
extern const Family kSetEncoderFamily, kSetEncoderElectraFamily;

/// PARADE: BERT on a document's passages, each with the query, whose [CLS] states are pooled by a maximum or a small
/// Transformer. (Li et al., "PARADE: Passage Representation Aggregation for Document Reranking", arXiv 2008.09093.)
extern const Family kParadeFamily;

/// Decoders that judge a pair by the tokens that would follow a chat: Qwen3-Reranker, also as a sequence classifier,
/// and mxbai-rerank-v2 (Qwen2), each with its own template.
extern const Family kQwen2Family, kQwen3Family;

/// T5 (v1.0 and v1.1) as a cross-encoder: monoT5. The score is the log-probability of "true" against "false" as the
/// first word that the decoder writes after "Query: ... Document: ... Relevant:". In a sparse pattern, C stands for the
/// decoder's token.
extern const Family kT5Family;

}  // namespace relucent
