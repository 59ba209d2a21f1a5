// Matrix products without a library. Each thread takes a band of rows of C. For each K×N block of B
// it packs a panel (converted to the type of the sums), then forms tiles of some rows × 3 vectors:
// 4 rows with SSE and AVX2, whose sixteen registers hold twelve sums, three vectors of B and one of
// A; 8 rows with AVX-512, which has 32. A panel that is read for more rows may come from the second
// cache: 4 rows take 32 bytes of it each cycle, more than it gives, 8 rows take 16.
#include "bench/cpu/builtin_gemm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace cb {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kVectors = 3;
constexpr int64_t kDepth = 192;
constexpr int64_t kCacheLine = 64;

// Begins at a cache line: a vector of 64 bytes elsewhere touches two. From the heap, which has it
// at hand for the next product: pages of its own took longer than a product of 128 rows.
struct FreeScratch {
  void operator()(void* memory) const {
    ::operator delete (memory, std::align_val_t{static_cast<size_t>(kCacheLine)});
  }
};
template <typename T>
using Scratch = std::unique_ptr<T[], FreeScratch>;

template <typename T>
Scratch<T> make_scratch(int64_t values) {
  return Scratch<T>(static_cast<T*>(::operator new (
      static_cast<size_t>(values) * sizeof(T), std::align_val_t{static_cast<size_t>(kCacheLine)})));
}

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
  for (int64_t p = 0; p < depth; ++p, b += n, panel += width) {
    for (int64_t j = 0; j < columns; ++j) panel[j] = static_cast<Sum>(widen(b[j]));
    std::fill(panel + columns, panel + width, Sum(0));
  }
}

// Packs `tall` rows of A, of which `rows` exist, as `multiply` reads them: interleaved by row. The
// others are zeros.
template <typename In, typename Sum, typename Widen>
void pack_rows(const In* a, int64_t k, int64_t rows, int64_t tall, int64_t depth, Sum* to) {
  const Widen widen;
  for (int64_t r = 0; r < tall; ++r) {
    for (int64_t p = 0; p < depth; ++p)
      to[p * tall + r] = r < rows ? static_cast<Sum>(widen(a[r * k + p])) : Sum(0);
  }
}

// Multiplies kRows rows of A by one panel of kVectors vectors and adds that to C, whose rows lie
// `n` values apart. `a` holds kRows × depth values of the sums' type, interleaved by row.
template <typename Sum, int kBytes, int64_t kRows>
[[gnu::always_inline]] inline void tile(const Sum* a, const Sum* panel, int64_t depth, Sum* c,
                                        int64_t n) {
  // May be read from memory of Sum that is aligned for Sum alone.
  typedef Sum RowPart __attribute__((vector_size(kBytes), aligned(sizeof(Sum)), may_alias));
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t at = 0; at < kVectors * kBytes; at += kCacheLine)
      __builtin_prefetch(reinterpret_cast<const char*>(c + i * n) + at, 1);
  }
  RowPart sums[kRows][kVectors];
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t v = 0; v < kVectors; ++v) sums[i][v] = RowPart{};
  }
  const auto* b = reinterpret_cast<const RowPart*>(panel);
  for (int64_t p = 0; p < depth; ++p, b += kVectors) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t v = 0; v < kVectors; ++v) sums[i][v] += a[p * kRows + i] * b[v];
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    auto* to = reinterpret_cast<RowPart*>(c + i * n);
    for (int64_t v = 0; v < kVectors; ++v) to[v] += sums[i][v];
  }
}

constexpr int64_t kWidestBytes = 64;

// A kernel, the rows of its tiles and the width of its panels in values.
template <typename Sum>
struct TileKernel {
  void (*multiply)(const Sum*, const Sum*, int64_t, Sum*, int64_t);
  int64_t rows, width;
};

template <typename Sum, int kBytes, int64_t kRows>
constexpr TileKernel<Sum> tile_kernel(void (*multiply)(const Sum*, const Sum*, int64_t, Sum*,
                                                       int64_t)) {
  static_assert(kRows <= kMostRows && kBytes <= kWidestBytes);
  return {multiply, kRows, kVectors * kBytes / static_cast<int64_t>(sizeof(Sum))};
}

template <typename Sum>
void tile_baseline(const Sum* a, const Sum* panel, int64_t depth, Sum* c, int64_t n) {
  tile<Sum, 16, 4>(a, panel, depth, c, n);
}

#if defined(__x86_64__)
template <typename Sum>
[[gnu::target("avx2,fma")]] void tile_avx2(const Sum* a, const Sum* panel, int64_t depth, Sum* c,
                                           int64_t n) {
  tile<Sum, 32, 4>(a, panel, depth, c, n);
}
template <typename Sum>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] void tile_avx512(const Sum* a,
                                                                       const Sum* panel,
                                                                       int64_t depth, Sum* c,
                                                                       int64_t n) {
  tile<Sum, 64, 8>(a, panel, depth, c, n);
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
  if (isa == "avx512") return tile_kernel<Sum, 64, 8>(tile_avx512<Sum>);
  if (isa == "avx2") return tile_kernel<Sum, 32, 4>(tile_avx2<Sum>);
#endif
  return tile_kernel<Sum, 16, 4>(tile_baseline<Sum>);
}

// One thread's band of rows of C.
template <typename In, typename Sum, typename Widen>
class Band {
 public:
  Band(const GemmData& d, int64_t first, int64_t last, const TileKernel<Sum>& kernel)
      : shape_(d.shape()),
        a_(static_cast<const In*>(d.a())),
        b_(static_cast<const In*>(d.b())),
        c_(static_cast<Sum*>(d.c())),
        first_(first),
        last_(last),
        kernel_(kernel),
        panel_(make_scratch<Sum>(kDepth * kernel.width)),
        rows_(make_scratch<Sum>((last - first + kMostRows) * kDepth)) {}

  void run() {
    std::fill_n(c_ + first_ * shape_.n, (last_ - first_) * shape_.n, Sum(0));
    for (int64_t k0 = 0; k0 < shape_.k; k0 += kDepth)
      add_block(k0, std::min(kDepth, shape_.k - k0));
  }

 private:
  // Adds what `depth` columns of A from k0 on and as many rows of B give.
  void add_block(int64_t k0, int64_t depth) {
    for (int64_t i = first_; i < last_; i += kernel_.rows)
      pack_rows<In, Sum, Widen>(a_ + i * shape_.k + k0, shape_.k, last_ - i, kernel_.rows, depth,
                                packed(i));
    for (int64_t j = 0; j < shape_.n; j += kernel_.width) {
      const int64_t columns = std::min(kernel_.width, shape_.n - j);
      pack_panel<In, Sum, Widen>(b_ + k0 * shape_.n + j, shape_.n, columns, depth, kernel_.width,
                                 panel_.get());
      for (int64_t i = first_; i < last_; i += kernel_.rows)
        add_tile(i, j, std::min(kernel_.rows, last_ - i), columns, depth);
    }
  }

  // A tile that reaches over the edge of C is formed beside it; `rows` × `columns` of it exist.
  void add_tile(int64_t i, int64_t j, int64_t rows, int64_t columns, int64_t depth) {
    Sum* const to = c_ + i * shape_.n + j;
    if (rows == kernel_.rows && columns == kernel_.width)
      return kernel_.multiply(packed(i), panel_.get(), depth, to, shape_.n);
    std::array<Sum, kMostRows * kVectors * kWidestBytes / sizeof(Sum)> beside{};
    kernel_.multiply(packed(i), panel_.get(), depth, beside.data(), kernel_.width);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t q = 0; q < columns; ++q)
        to[r * shape_.n + q] += beside[static_cast<size_t>(r * kernel_.width + q)];
    }
  }

  Sum* packed(int64_t row) { return rows_.get() + (row - first_) * kDepth; }

  GemmShape shape_;
  const In* a_;
  const In* b_;
  Sum* c_;
  int64_t first_, last_;  // rows of C: [first, last)
  TileKernel<Sum> kernel_;
  Scratch<Sum> panel_, rows_;
};

template <typename In, typename Sum, typename Widen>
void in_bands(const GemmData& d, Team& team, std::string_view isa) {
  const TileKernel<Sum> kernel = kernel_of<Sum>(isa);
  team.run([&](int index) {
    const Range mine = share_of_items(static_cast<size_t>(d.shape().m), team.size(), index,
                                      static_cast<size_t>(kernel.rows));
    Band<In, Sum, Widen>(d, static_cast<int64_t>(mine.begin), static_cast<int64_t>(mine.end),
                         kernel)
        .run();
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
