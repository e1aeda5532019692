// Encoders of late interaction: texts by themselves, of which each token gives a vector, or all tokens together one.
#pragma once

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

class Texts final : public Encoder {
 public:
  explicit Texts(const EncoderSource& source);

  void encode(std::span<const Segment> texts, std::span<float> vectors, Team& everybody,
              const StopSignal& stop) const override;

 private:
  struct Memory : Scratch {   // of a group or a worker
    Buffer<float> projected;  // activation [size]
  };

  Core core_;
  bool pools_;
  PackedLinear projection_;  // unless pools_
  std::size_t size_;
  bool unit_;
};

}  // namespace relucent::cpu
