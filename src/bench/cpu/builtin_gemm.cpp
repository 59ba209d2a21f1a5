// Matrix products without a library. Each thread takes a band of rows of C. For each K×N block of B
// it packs a panel (converted to the type of the sums), then forms tiles of 4 rows × 3 vectors. The
// twelve sums, three vectors of B and one of A fill the sixteen registers of SSE and AVX2.
#include "bench/cpu/builtin_gemm.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cb {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kVectors = 3;
constexpr int64_t kDepth = 256;

struct AsIs {
  template <typename T>
  T operator()(T v) const {
    return v;
  }
};
struct Bf16ToFloat {
  float operator()(uint16_t v) const { return from_bf16(v); }
};
struct WidenInt {
  int32_t operator()(int8_t v) const { return v; }
};

// Packs a panel: `depth` rows of `width` values of B in the sums' type, of which `columns` exist;
// the others are zeros.
template <typename In, typename Sum, typename Widen>
void pack_panel(const In* b, int64_t n, int64_t columns, int64_t depth, int64_t width, Sum* panel) {
  const Widen widen;
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t j = 0; j < width; ++j)
      panel[p * width + j] = j < columns ? static_cast<Sum>(widen(b[p * n + j])) : Sum(0);
  }
}

// Packs kRows rows of A from column k0 on, of which `rows` exist, as `multiply` reads them:
// interleaved by row. The others are zeros.
template <typename In, typename Sum, typename Widen>
void pack_rows(const In* a, int64_t k, int64_t rows, int64_t depth, Sum* to) {
  const Widen widen;
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t r = 0; r < kRows; ++r)
      to[p * kRows + r] = r < rows ? static_cast<Sum>(widen(a[r * k + p])) : Sum(0);
  }
}

// Multiplies kRows rows of A by one panel of kVectors vectors. `a` holds kRows × depth values of
// the sums' type, interleaved by row; `out` gets kRows × kVectors vectors.
template <typename Sum, int kBytes>
[[gnu::always_inline]] inline void tile(const Sum* a, const Sum* panel, int64_t depth, Sum* out) {
  // May be read from memory of Sum that is aligned for Sum alone.
  typedef Sum RowPart __attribute__((vector_size(kBytes), aligned(sizeof(Sum)), may_alias));
  RowPart sums[kRows][kVectors] = {};
  const auto* b = reinterpret_cast<const RowPart*>(panel);
  for (int64_t p = 0; p < depth; ++p, b += kVectors) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t v = 0; v < kVectors; ++v) sums[i][v] += a[p * kRows + i] * b[v];
    }
  }
  auto* to = reinterpret_cast<RowPart*>(out);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t v = 0; v < kVectors; ++v) to[i * kVectors + v] = sums[i][v];
  }
}

constexpr int64_t kWidestBytes = 64;

// A kernel and the width of its panels in values.
template <typename Sum>
struct TileKernel {
  void (*multiply)(const Sum*, const Sum*, int64_t, Sum*);
  int64_t width;
};
template <typename Sum>
TileKernel<Sum> tile_kernel(void (*multiply)(const Sum*, const Sum*, int64_t, Sum*),
                            int64_t bytes) {
  return {multiply, kVectors * bytes / static_cast<int64_t>(sizeof(Sum))};
}

template <typename Sum>
void tile_baseline(const Sum* a, const Sum* panel, int64_t depth, Sum* out) {
  tile<Sum, 16>(a, panel, depth, out);
}

#if defined(__x86_64__)
template <typename Sum>
[[gnu::target("avx2,fma")]] void tile_avx2(const Sum* a, const Sum* panel, int64_t depth,
                                           Sum* out) {
  tile<Sum, 32>(a, panel, depth, out);
}
template <typename Sum>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] void tile_avx512(const Sum* a,
                                                                       const Sum* panel,
                                                                       int64_t depth, Sum* out) {
  tile<Sum, 64>(a, panel, depth, out);
}
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

template <typename Sum>
TileKernel<Sum> kernel_of([[maybe_unused]] std::string_view isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return tile_kernel<Sum>(tile_avx512<Sum>, 64);
  if (isa == "avx2") return tile_kernel<Sum>(tile_avx2<Sum>, 32);
#endif
  return tile_kernel<Sum>(tile_baseline<Sum>, 16);
}

// Adds the sums of a tile to C, of which `rows` × `columns` elements lie in the matrix.
template <typename Sum>
void add_tile(const Sum* tile, int64_t width, int64_t rows, int64_t columns, Sum* c, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t q = 0; q < columns; ++q) c[r * n + q] += tile[r * width + q];
  }
}

// Computes one thread's band of rows, [first, last), of C.
template <typename In, typename Sum, typename Widen>
void band(const GemmShape& s, const In* a, const In* b, Sum* c, int64_t first, int64_t last,
          const TileKernel<Sum>& kernel) {
  const auto [multiply, width] = kernel;
  std::vector<Sum> panel(static_cast<size_t>(kDepth * width));
  std::vector<Sum> rows(static_cast<size_t>((last - first + kRows) * kDepth));
  std::array<Sum, kRows * kVectors * kWidestBytes / sizeof(Sum)> out;
  for (int64_t i = first; i < last; ++i) std::fill_n(c + i * s.n, s.n, Sum(0));
  for (int64_t k0 = 0; k0 < s.k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, s.k - k0);
    for (int64_t i = first; i < last; i += kRows)
      pack_rows<In, Sum, Widen>(a + i * s.k + k0, s.k, last - i, depth,
                                rows.data() + (i - first) * kDepth);
    for (int64_t j = 0; j < s.n; j += width) {
      const int64_t columns = std::min(width, s.n - j);
      pack_panel<In, Sum, Widen>(b + k0 * s.n + j, s.n, columns, depth, width, panel.data());
      for (int64_t i = first; i < last; i += kRows) {
        multiply(rows.data() + (i - first) * kDepth, panel.data(), depth, out.data());
        add_tile(out.data(), width, std::min(kRows, last - i), columns, c + i * s.n + j, s.n);
      }
    }
  }
}

template <typename In, typename Sum, typename Widen>
void in_bands(const GemmData& d, Team& team, std::string_view isa) {
  const GemmShape s = d.shape();
  const TileKernel<Sum> kernel = kernel_of<Sum>(isa);
  team.run([&](int index) {
    const Range mine =
        share_of_items(static_cast<size_t>(s.m), team.size(), index, static_cast<size_t>(kRows));
    band<In, Sum, Widen>(s, static_cast<const In*>(d.a()), static_cast<const In*>(d.b()),
                         static_cast<Sum*>(d.c()), static_cast<int64_t>(mine.begin),
                         static_cast<int64_t>(mine.end), kernel);
  });
}

}  // namespace

std::vector<std::string> builtin_gemm_isas() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  if (has_avx512()) out.push_back("avx512");
  if (has_avx2()) out.push_back("avx2");
#endif
  out.push_back("baseline");
  return out;
}

void builtin_gemm(const GemmData& d, Team& team, std::string_view isa) {
  switch (d.type()) {
    case GemmType::fp64:
      return in_bands<double, double, AsIs>(d, team, isa);
    case GemmType::fp32:
      return in_bands<float, float, AsIs>(d, team, isa);
    case GemmType::bf16:
      return in_bands<uint16_t, float, Bf16ToFloat>(d, team, isa);
    case GemmType::int8:
      return in_bands<int8_t, int32_t, WidenInt>(d, team, isa);
  }
}

}  // namespace cb
