// Multiply-adds on registers alone, to measure the processor's peak rate. Included by vector_kernels.inl.

// Enough independent sums to hide latency, few enough for the registers.
constexpr std::size_t kSumsInFlight = RELUCENT_REGISTERS == 32 ? 24 : 12;

template <typename Dot>
double spin_vectors(Arithmetic arithmetic, std::size_t rounds) {
  // Unknown to the compiler. About 1 as fp32 and as two bf16, because denormals are slow on some processors.
  static volatile std::int32_t one = 0x3F803F80;
  const std::int32_t weight = one;
  const Ints units = Ints{} + weight;
  typename Dot::Sum sums[kSumsInFlight];
  // All equal, but the compiler cannot know that.
  for (auto& sum : sums) sum = __builtin_convertvector(Ints{} + one, typename Dot::Sum);
  for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (auto& sum : sums) sum = Dot::add(sum, weight, units);
  }
  for (const auto& sum : sums) asm volatile("" : : "r"(((Ints)sum)[0]));  // makes the compiler compute it
  return 2.0 * static_cast<double>(rounds * kSumsInFlight * kLanes * inputs_together(arithmetic));
}

#if RELUCENT_AMX
template <typename Kind>
double spin_tiles(Arithmetic arithmetic, std::size_t rounds) {
  Tiles tiles;
  tiles.zero<0>();
  tiles.zero<1>();
  tiles.zero<2>();
  tiles.zero<3>();
  tiles.zero<4>();
  tiles.zero<6>();
  for (std::size_t round = 0; round < rounds; ++round) {
    Kind::template add<0, 4, 6>(tiles);
    Kind::template add<1, 4, 6>(tiles);
    Kind::template add<2, 4, 6>(tiles);
    Kind::template add<3, 4, 6>(tiles);
  }
  return 2.0 * static_cast<double>(rounds * 4 * kTile * kTile * kTile * inputs_together(arithmetic));
}
#endif

double spin(Arithmetic arithmetic, std::size_t rounds) {
  switch (arithmetic) {
    case Arithmetic::fp32:
    case Arithmetic::bf16_emulated: return spin_vectors<DotF32>(Arithmetic::fp32, rounds);
#if RELUCENT_AMX
    case Arithmetic::bf16: return spin_tiles<Bf16Tiles>(arithmetic, rounds);
    case Arithmetic::int8: return spin_tiles<Int8Tiles>(arithmetic, rounds);
#else
    case Arithmetic::bf16: return spin_vectors<DotBf16>(arithmetic, rounds);
    case Arithmetic::int8: return spin_vectors<DotInt8>(arithmetic, rounds);
#endif
  }
  return 0;
}
