// Matrix products without a library. Each thread takes a band of rows of C. For each K×N block of B
// it packs a panel (converted to the type of the sums), then forms tiles of 4 rows × 32 columns in
// registers. The compiler vectorises these for each instruction set.
#include "bench/cpu/builtin_gemm.h"

#include <algorithm>
#include <vector>

namespace cb {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 32;
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

// Packs a panel: `depth` rows of kColumns values of B in the sums' type, padded with zeros.
template <typename In, typename Sum, typename Widen>
void pack_panel(const In* b, int64_t n, int64_t columns, int64_t depth, Sum* panel) {
  const Widen widen;
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t j = 0; j < kColumns; ++j)
      panel[p * kColumns + j] = j < columns ? static_cast<Sum>(widen(b[p * n + j])) : Sum(0);
  }
}

// Multiplies kRows rows of A by one panel. `a` holds kRows × depth values of the sums' type,
// interleaved by row; `out` gets kRows × kColumns sums.
template <typename Sum>
[[gnu::always_inline]] inline void tile(const Sum* a, const Sum* panel, int64_t depth, Sum* out) {
  Sum sums[kRows][kColumns] = {};
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t i = 0; i < kRows; ++i) {
      const Sum v = a[p * kRows + i];
      for (int64_t j = 0; j < kColumns; ++j) sums[i][j] += v * panel[p * kColumns + j];
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) out[i * kColumns + j] = sums[i][j];
  }
}

template <typename Sum>
using Tile = void (*)(const Sum*, const Sum*, int64_t, Sum*);

template <typename Sum>
void tile_baseline(const Sum* a, const Sum* panel, int64_t depth, Sum* out) {
  tile(a, panel, depth, out);
}

#if defined(__x86_64__)
template <typename Sum>
[[gnu::target("avx2,fma")]] void tile_avx2(const Sum* a, const Sum* panel, int64_t depth,
                                           Sum* out) {
  tile(a, panel, depth, out);
}
// gcc uses vectors of half the width unless told otherwise.
#if defined(__clang__)
#define CB_AVX512_TARGET "avx512f,avx512dq,avx512bw,avx512vl"
#else
#define CB_AVX512_TARGET "avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"
#endif
template <typename Sum>
[[gnu::target(CB_AVX512_TARGET)]] void tile_avx512(const Sum* a, const Sum* panel, int64_t depth,
                                                   Sum* out) {
  tile(a, panel, depth, out);
}
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
template <typename Sum>
Tile<Sum> widest_tile() {
  return has_avx512() ? tile_avx512<Sum> : has_avx2() ? tile_avx2<Sum> : tile_baseline<Sum>;
}
const char* widest_name() { return has_avx512() ? "avx512" : has_avx2() ? "avx2" : "baseline"; }
#else
template <typename Sum>
Tile<Sum> widest_tile() {
  return tile_baseline<Sum>;
}
const char* widest_name() { return "baseline"; }
#endif

// Computes one thread's band of rows, [first, last), of C.
template <typename In, typename Sum, typename Widen>
void band(const GemmShape& s, const In* a, const In* b, Sum* c, int64_t first, int64_t last) {
  const Widen widen;
  const Tile<Sum> multiply = widest_tile<Sum>();
  std::vector<Sum> panel(static_cast<size_t>(kDepth * kColumns));
  std::vector<Sum> rows(static_cast<size_t>((last - first + kRows) * kDepth));
  Sum out[kRows * kColumns];
  for (int64_t i = first; i < last; ++i) std::fill_n(c + i * s.n, s.n, Sum(0));
  for (int64_t k0 = 0; k0 < s.k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, s.k - k0);
    for (int64_t i = first; i < last; i += kRows) {  // A's band, kRows rows interleaved
      Sum* to = rows.data() + (i - first) * kDepth;
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t r = 0; r < kRows; ++r)
          to[p * kRows + r] =
              i + r < last ? static_cast<Sum>(widen(a[(i + r) * s.k + k0 + p])) : Sum(0);
      }
    }
    for (int64_t j = 0; j < s.n; j += kColumns) {
      const int64_t columns = std::min(kColumns, s.n - j);
      pack_panel<In, Sum, Widen>(b + k0 * s.n + j, s.n, columns, depth, panel.data());
      for (int64_t i = first; i < last; i += kRows) {
        multiply(rows.data() + (i - first) * kDepth, panel.data(), depth, out);
        for (int64_t r = 0; r < std::min(kRows, last - i); ++r) {
          for (int64_t q = 0; q < columns; ++q) c[(i + r) * s.n + j + q] += out[r * kColumns + q];
        }
      }
    }
  }
}

template <typename In, typename Sum, typename Widen>
void in_bands(const GemmData& d, Team& team) {
  const GemmShape s = d.shape();
  team.run([&](int index) {
    const Range mine =
        share_of_items(static_cast<size_t>(s.m), team.size(), index, static_cast<size_t>(kRows));
    band<In, Sum, Widen>(s, static_cast<const In*>(d.a()), static_cast<const In*>(d.b()),
                         static_cast<Sum*>(d.c()), static_cast<int64_t>(mine.begin),
                         static_cast<int64_t>(mine.end));
  });
}

}  // namespace

std::string builtin_gemm_isa() { return widest_name(); }

void builtin_gemm(const GemmData& d, Team& team) {
  switch (d.type()) {
    case GemmType::fp64:
      return in_bands<double, double, AsIs>(d, team);
    case GemmType::fp32:
      return in_bands<float, float, AsIs>(d, team);
    case GemmType::bf16:
      return in_bands<uint16_t, float, Bf16ToFloat>(d, team);
    case GemmType::int8:
      return in_bands<int8_t, int32_t, WidenInt>(d, team);
  }
}

}  // namespace cb
