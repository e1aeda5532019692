#include "kernels/cuda/attention_time.h"

#include <fmt/core.h>

#include <limits>
#include <numeric>

#include "kernels/cuda/chunk.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda/encoders/encoder.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul.h"
#include "relucent/error.h"

namespace relucent::cuda {

std::vector<std::chrono::nanoseconds> time_attention(int device, Precision precision, const AttentionShape& shape,
                                                     int runs) {
  const Element element = element_of(precision);
  const std::size_t rows = shape.sequences * shape.tokens, of_heads = shape.heads * shape.head_size * size_of(element);
  if (shape.head_size % 8 != 0 || shape.head_size > kMaxHeadSize || rows > kMaxRows) {
    throw Error(ErrorKind::unsupported, device_name(device),
                fmt::format("cannot time the attention of {} tokens with heads of {}", rows, shape.head_size),
                fmt::format("time at most {} tokens, with heads of a multiple of 8 up to {}", kMaxRows, kMaxHeadSize));
  }
  // Texts by themselves, in one chunk.
  std::vector<std::int32_t> positions(shape.tokens);
  std::iota(positions.begin(), positions.end(), 0);
  PairBatch batch;
  batch.documents.assign(shape.sequences, {.group = relucent::kDocument, .ids = positions, .positions = positions});
  batch.globals.resize(shape.sequences);
  const ChunkShape texts{.texts = true};
  constexpr std::size_t any = std::numeric_limits<std::int32_t>::max();
  const Chunk chunk = chunks_of(batch, texts, {any, any, any, any}).front();
  const ChunkTables tables(chunk.size, 0);

  const CurrentDevice current(device);
  const PinnedMemory tables_on_host(device, tables.bytes);
  write_tables(batch, texts, chunk, tables_on_host.data());
  const DeviceMemory on_device(device, tables.bytes, "the measurement"),
      projected(device, 3 * rows * of_heads, "the measurement"), context(device, rows * of_heads, "the measurement");
  Stream stream(device);
  Clock clock(device);
  stream.copy_to_device(on_device.data(), tables_on_host.data(), tables.bytes);
  fill_with_numbers(projected.data(), 3 * rows * of_heads, element, stream);

  AttentionWork work{};
  work.tiles = reinterpret_cast<const AttentionTile*>(on_device.data() + tables.tiles);
  work.tile_count = static_cast<int>(chunk.size.tiles);
  work.tokens = reinterpret_cast<const Token*>(on_device.data() + tables.tokens);
  work.sequences = reinterpret_cast<const Sequence*>(on_device.data() + tables.sequences);
  work.sequence_count = static_cast<int>(chunk.size.sequences);
  work.pattern.sees = 1U << (3 * kDocument + kDocument);
  std::ranges::fill(work.pattern.windows, -1);
  work.pattern.window = shape.window && *shape.window < shape.tokens ? static_cast<std::int32_t>(*shape.window) : -1;
  work.pattern.windows[3 * kDocument + kDocument] = work.pattern.window;
  work.heads = static_cast<int>(shape.heads), work.head_size = static_cast<int>(shape.head_size);
  work.scale = 1;
  std::vector<std::chrono::nanoseconds> samples;
  for (int run = -1; run < runs; ++run) {
    clock.start(stream);
    check(attention(element, work, projected.data(), context.data(), stream), device, "starting the attention");
    clock.stop(stream);
    stream.wait();
    if (run >= 0) samples.push_back(clock.elapsed());
  }
  return samples;
}

}  // namespace relucent::cuda
