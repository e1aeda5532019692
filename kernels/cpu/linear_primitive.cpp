#include "cpu/linear_primitive.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "relucent/error.h"

namespace relucent::cpu {
namespace {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// One a thread: a oneDNN stream must not be shared.
dnnl::stream& stream() {
  thread_local dnnl::stream of_this_thread(engine());
  return of_this_thread;
}

// The calling thread's scratch memory, for primitives that were made on another one: oneDNN's own belongs to the thread
// that made the primitive.
void* scratchpad(std::size_t bytes) {
  constexpr std::size_t alignment = 4096;
  thread_local std::vector<std::byte> buffer;
  if (buffer.size() < bytes + alignment) buffer.resize(bytes + alignment);
  void* start = buffer.data();
  std::size_t room = buffer.size();
  return std::align(alignment, bytes, start, room);
}

memory::dim dim(std::size_t n) { return static_cast<memory::dim>(n); }

[[noreturn]] void refused(const dnnl::error& error) {
  throw Error(ErrorKind::unsupported, "precision bf16", std::string("oneDNN refuses: ") + error.what(),
              "use precision = \"fp32\"");
}

/// One primitive a number of rows, made when it is first wanted.
class LinearPrimitive final : public Linear {
 public:
  LinearPrimitive(OperandType type, const VectorKernels& kernels, const std::vector<float>& weight,
                  std::vector<float> bias)
      : Linear(weight.size(), std::move(bias)),
        type_(type == OperandType::bf16 ? memory::data_type::bf16 : memory::data_type::f32) {
    weight_.assign(type == OperandType::bf16 ? Arithmetic::bf16 : Arithmetic::fp32, kernels, weight.data(), outputs_,
                   inputs_);
    if (type == OperandType::f32) {
      std::copy(weight.begin(), weight.end(), static_cast<float*>(weight_.reserve(outputs_, inputs_, sizeof(float))));
    }
    bias_memory_ = memory({{1, dim(outputs_)}, memory::data_type::f32, memory::format_tag::ab}, engine(), bias_.data());
  }

  void multiply(const Operand& x, std::size_t rows, float* y) const override {
    execute(x, tile_rows(rows), Output::fp32, y);
  }

  void multiply_gelu(const Operand& x, std::size_t rows, float*, Operand& y) const override {
    execute(x, tile_rows(rows), Output::gelu, y.reserve(rows, outputs_, memory::data_type_size(type_)));
  }

 private:
  enum class Output { fp32, gelu };
  struct Product {
    dnnl::matmul primitive;
    dnnl::matmul::primitive_desc description;
    memory weights;
  };

  void execute(const Operand& x, std::size_t rows, Output output, void* y) const {
    try {
      const Product& product = product_for(rows, output);
      // oneDNN only reads the source.
      memory source(product.description.src_desc(), engine(), const_cast<void*>(x.data()));
      memory destination(product.description.dst_desc(), engine(), y);
      std::unordered_map<int, memory> arguments = {
          {DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, product.weights}, {DNNL_ARG_DST, destination}};
      const memory::desc scratch = product.description.scratchpad_desc();
      arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratch, engine(), scratchpad(scratch.get_size())));
      if (output == Output::gelu) arguments.emplace(DNNL_ARG_BIAS, bias_memory_);
      product.primitive.execute(stream(), arguments);
      stream().wait();
    } catch (const dnnl::error& error) {
      refused(error);
    }
  }

  const Product& product_for(std::size_t rows, Output output) const {
    const std::pair key(rows, output);
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = products_.find(key); known != products_.end()) return known->second;
    }
    const std::unique_lock lock(mutex_);
    if (const auto known = products_.find(key); known != products_.end()) return known->second;
    const memory::desc source({dim(rows), dim(inputs_)}, type_, memory::format_tag::ab);
    const memory::desc weights({dim(inputs_), dim(outputs_)}, type_, memory::format_tag::any);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const bool gelu = output == Output::gelu;
    const memory::desc destination({dim(rows), dim(outputs_)}, gelu ? type_ : memory::data_type::f32,
                                   memory::format_tag::ab);
    if (gelu) {
      dnnl::post_ops after;
      after.append_eltwise(1.0F, dnnl::algorithm::eltwise_gelu_erf, 0.0F, 0.0F);
      attributes.set_post_ops(after);
    }
    const auto description =
        gelu ? dnnl::matmul::primitive_desc({source, weights, bias_memory_.get_desc(), destination}, attributes, engine())
             : dnnl::matmul::primitive_desc({source, weights, destination}, attributes, engine());
    Product product{dnnl::matmul(description), description, packed(description.weights_desc())};
    return products_.emplace(key, std::move(product)).first->second;
  }

  // The weights in the layout `wanted`; most numbers of rows share one.
  memory packed(const memory::desc& wanted) const {
    for (const memory& known : packed_) {
      if (known.get_desc() == wanted) return known;
    }
    // [in, out] by strides over our [out, in].
    memory plain({{dim(inputs_), dim(outputs_)}, type_, memory::dims{1, dim(inputs_)}}, engine(),
                 const_cast<void*>(weight_.data()));
    memory target(wanted, engine());
    dnnl::reorder(plain, target).execute(stream(), plain, target);
    stream().wait();
    packed_.push_back(target);
    return target;
  }

  memory::data_type type_;
  Operand weight_;  // [out, in]
  memory bias_memory_;
  mutable std::shared_mutex mutex_;
  mutable std::map<std::pair<std::size_t, Output>, Product> products_;  // at most 2 x max_positions / 16 of them
  mutable std::vector<memory> packed_;
};

}  // namespace

bool has_native_bf16() { return native_bf16_name() != nullptr; }

const char* native_bf16_name() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_amx: return "amx";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512_bf16";
    default: return nullptr;
  }
}

std::unique_ptr<const Linear> make_linear_primitive(OperandType type, const VectorKernels& kernels,
                                                    const std::vector<float>& weight, std::vector<float> bias) {
  try {
    return std::make_unique<LinearPrimitive>(type, kernels, weight, std::move(bias));
  } catch (const dnnl::error& error) {
    refused(error);
  }
}

}  // namespace relucent::cpu
