// Intel AMX's tile instructions, and their emulation in plain C++, which lets tests run the tile kernels on any
// processor. Included by vector_kernels.inl. A tile has 16 rows of 64 bytes: 16 units of four bytes.

constexpr std::size_t kTile = 16;  // rows, and units per row

#if RELUCENT_AMX == 1
/// ldtilecfg's operand: palette 1, each of the eight tiles with 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

// Inline assembly instead of GCC 12's intrinsics, which accept only literal tile numbers and do not tell the compiler
// which memory they use: _tile_loadconfig claims 8 of its 64 bytes, so the compiler deletes stores to the others;
// _tile_loadd and _tile_stored claim none, so the compiler may move stores past the former and loads past the latter.
struct Tiles {
  Tiles() {
    static constexpr TileConfiguration configuration;
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int T>
  RELUCENT_INLINE void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  template <int T>
  RELUCENT_INLINE void load(const void* from, std::size_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(T) : "memory");
  }
  template <int T>
  RELUCENT_INLINE void store(void* to, std::size_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(T) : "memory");
  }
  /// sums [16][16] fp32 += a [16][16 bf16 pairs] * b [16 pairs][16]
  template <int Sums, int A, int B>
  RELUCENT_INLINE void add_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }
  /// sums [16][16] int32 += a [16][16 signed quads] * b [16 unsigned quads][16]
  template <int Sums, int A, int B>
  RELUCENT_INLINE void add_int8() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }
};
#else
/// Emulates the instructions as Intel's manual defines them, including rounding: tdpbf16ps sums even and odd inputs
/// separately, rounding after each multiply-add, and adds both sums at the end; denormals count as zero.
struct Tiles {
  std::uint32_t tiles[8][kTile][kTile];

  template <int T>
  void zero() {
    __builtin_memset(tiles[T], 0, sizeof tiles[T]);
  }
  template <int T>
  void load(const void* from, std::size_t stride) {
    for (std::size_t row = 0; row < kTile; ++row) {
      __builtin_memcpy(tiles[T][row], static_cast<const char*>(from) + row * stride, sizeof tiles[T][row]);
    }
  }
  template <int T>
  void store(void* to, std::size_t stride) {
    for (std::size_t row = 0; row < kTile; ++row) {
      __builtin_memcpy(static_cast<char*>(to) + row * stride, tiles[T][row], sizeof tiles[T][row]);
    }
  }
  static float normal(float value) {
    return __builtin_fabsf(value) < 0x1p-126F ? __builtin_copysignf(0, value) : value;
  }
  static float as_float(std::uint32_t bits) { return normal(__builtin_bit_cast(float, bits)); }

  template <int Sums, int A, int B>
  void add_bf16() {
    for (std::size_t m = 0; m < kTile; ++m) {
      for (std::size_t n = 0; n < kTile; ++n) {
        float even = 0, odd = 0;
        for (std::size_t k = 0; k < kTile; ++k) {
          const std::uint32_t a = tiles[A][m][k], b = tiles[B][k][n];
          even = normal(__builtin_fmaf(as_float(a << 16), as_float(b << 16), even));
          odd = normal(__builtin_fmaf(as_float(a & 0xFFFF0000U), as_float(b & 0xFFFF0000U), odd));
        }
        const float sum = normal(as_float(tiles[Sums][m][n]) + normal(even + odd));
        tiles[Sums][m][n] = __builtin_bit_cast(std::uint32_t, sum);
      }
    }
  }
  template <int Sums, int A, int B>
  void add_int8() {
    for (std::size_t m = 0; m < kTile; ++m) {
      for (std::size_t n = 0; n < kTile; ++n) {
        std::uint32_t sum = tiles[Sums][m][n];
        for (std::size_t k = 0; k < kTile; ++k) {
          for (int byte = 0; byte < 4; ++byte) {
            const auto a = static_cast<std::int8_t>(tiles[A][m][k] >> (8 * byte));
            const auto b = static_cast<std::uint8_t>(tiles[B][k][n] >> (8 * byte));
            sum += static_cast<std::uint32_t>(a * b);
          }
        }
        tiles[Sums][m][n] = sum;
      }
    }
  }
};
#endif
