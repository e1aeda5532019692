#pragma once

#include "model/families/family.h"

namespace relucent {

/// Lightning IR's cross-encoders: an encoder of the form of BERT or ELECTRA, and one linear layer. Source:
/// lightning-ir 0.0.6, MonoModel.
extern const Family kMonoFamily;
/// The same under the name that older versions write.
extern const Family kLightningCrossEncoderFamily;
/// Set-Encoder: candidates that see each other through one token each. Source: SetEncoderModel. The second one is the
/// name that older versions write, without a backbone_model_type.
extern const Family kSetEncoderFamily, kSetEncoderElectraFamily;

}  // namespace relucent
