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
/// separately, rounding after each multiply-add, and adds both sums at the end; denormals count as zero. Each is one
/// function for all tiles, not inlined: the compiler would spend a minute on them.
struct Tiles {
  using Tile = std::uint32_t[kTile][kTile];
  Tile tiles[8];

  template <int T>
  void zero() {
    __builtin_memset(tiles[T], 0, sizeof tiles[T]);
  }
  template <int T>
  void load(const void* from, std::size_t stride) {
    copy(reinterpret_cast<char*>(tiles[T]), sizeof tiles[T][0], static_cast<const char*>(from), stride);
  }
  template <int T>
  void store(void* to, std::size_t stride) {
    copy(static_cast<char*>(to), stride, reinterpret_cast<const char*>(tiles[T]), sizeof tiles[T][0]);
  }
  template <int Sums, int A, int B>
  void add_bf16() {
    add_bf16(tiles[Sums], tiles[A], tiles[B]);
  }
  template <int Sums, int A, int B>
  void add_int8() {
    add_int8(tiles[Sums], tiles[A], tiles[B]);
  }

 private:
  [[gnu::noinline]] static void copy(char* to, std::size_t to_stride, const char* from, std::size_t from_stride) {
    for (std::size_t row = 0; row < kTile; ++row) {
      __builtin_memcpy(to + row * to_stride, from + row * from_stride, sizeof(Tile) / kTile);
    }
  }
  static Floats bf16(Words upper_half) { return without_denormals((Floats)upper_half); }

  [[gnu::noinline]] static void add_bf16(Tile& sums, const Tile& a, const Tile& b) {
    for (std::size_t m = 0; m < kTile; ++m) {
      Floats even{}, odd{};
      for (std::size_t k = 0; k < kTile; ++k) {
        const Words first = a[m][k] - Words{}, second = (Words)load_units(b[k]);
        even = without_denormals(multiply_add(bf16(first << 16), bf16(second << 16), even));
        odd = without_denormals(multiply_add(bf16(first & 0xFFFF0000U), bf16(second & 0xFFFF0000U), odd));
      }
      const Floats sum = without_denormals((Floats)load_units(sums[m])) + without_denormals(even + odd);
      store_units(sums[m], (Ints)without_denormals(sum));
    }
  }
  [[gnu::noinline]] static void add_int8(Tile& sums, const Tile& a, const Tile& b) {
    for (std::size_t m = 0; m < kTile; ++m) {
      Ints sum = load_units(sums[m]);
      for (std::size_t k = 0; k < kTile; ++k) {
        const Words unsigned_bytes = (Words)load_units(b[k]);
        for (int byte = 0; byte < 4; ++byte) {
          const auto factor = static_cast<std::int8_t>(a[m][k] >> (8 * byte));
          sum += factor * (Ints)(unsigned_bytes >> (8 * byte) & 0xFFU);
        }
      }
      store_units(sums[m], sum);
    }
  }
};
#endif
