#include "bench/cpu/freivalds.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "bench/cpu/random.h"

namespace cb {
namespace {

struct FloatVector {
  using Sum = double;
  static double value(Random& random) {
    const double magnitude = 0.5 + 0.5 * random.unit();
    return random.next() % 2 == 0 ? magnitude : -magnitude;
  }
};
struct IntVector {
  using Sum = uint64_t;  // wraps around: arithmetic modulo 2^64
  static uint64_t value(Random& random) { return 1 + random.next() % 0x7fffffff; }
};

double read(double v) { return v; }
double read(float v) { return static_cast<double>(v); }
double read(uint16_t v) { return static_cast<double>(from_bf16(v)); }
uint64_t read(int8_t v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); }
uint64_t read(int32_t v) { return static_cast<uint64_t>(static_cast<int64_t>(v)); }

template <typename Sum>
struct PlainSum {
  Sum sum{};
  void add(Sum v) { sum += v; }
  Sum value() const { return sum; }
};
// Adds up what each addition rounds away too: TwoSum of Knuth, Sum2 of Ogita, Rump and Oishi (SIAM
// J. Sci. Comput. 26, 2005). Doubles that are added up plainly lose in proportion to N, and the
// limit of a product in fp64 grows with √(N·K): wide and shallow ones would be called wrong.
struct CompensatedSum {
  double sum = 0;
  double lost = 0;
  void add(double v) {
    const double next = sum + v, added = next - sum;
    lost += (sum - (next - added)) + (v - added);
    sum = next;
  }
  double value() const { return sum + lost; }
};
template <typename Element, typename Sum>
using SumOf = std::conditional_t<std::is_same_v<Element, double>, CompensatedSum, PlainSum<Sum>>;

// Units of roundoff, in fp64, of a row's value: B·x and both sides are rounded to be stored.
// This counts beside the limit only where x happens to be nearly parallel to rows of B. A shallow
// product has few such rows, and then all its own are affected.
constexpr double kOwnRounding = 4;

// y = M·x. M has `rows` rows and `columns` columns.
template <typename Element, typename Sum>
std::vector<Sum> times(const void* matrix, int64_t rows, int64_t columns, const std::vector<Sum>& x,
                       Team& team) {
  std::vector<Sum> y(static_cast<size_t>(rows));
  team.run([&](int index) {
    const Range mine = share_of_items(y.size(), team.size(), index);
    for (size_t i = mine.begin; i < mine.end; ++i) {
      const Element* row = static_cast<const Element*>(matrix) + i * static_cast<size_t>(columns);
      SumOf<Element, Sum> sum[4] = {};  // four chains: a single one would wait for each addition
      size_t j = 0;
      for (; j + 4 <= x.size(); j += 4) {
        for (size_t l = 0; l < 4; ++l) sum[l].add(read(row[j + l]) * x[j + l]);
      }
      for (; j < x.size(); ++j) sum[0].add(read(row[j]) * x[j]);
      y[i] = (sum[0].value() + sum[1].value()) + (sum[2].value() + sum[3].value());
    }
  });
  return y;
}

template <typename Element>
std::vector<double> squared_norms(const void* matrix, int64_t rows, int64_t columns, Team& team) {
  std::vector<double> out(static_cast<size_t>(rows));
  team.run([&](int index) {
    const Range mine = share_of_items(out.size(), team.size(), index);
    for (size_t i = mine.begin; i < mine.end; ++i) {
      const Element* row = static_cast<const Element*>(matrix) + i * static_cast<size_t>(columns);
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j) sum += read(row[j]) * read(row[j]);
      out[i] = sum;
    }
  });
  return out;
}

// Calls each(left, right, row) for every vector and row with left = C·x, right = A·(B·x).
template <typename In, typename Out, typename Vector, typename Each>
void compare_rows(const GemmData& d, uint64_t seed, int vectors, Team& team, Each each) {
  using Sum = typename Vector::Sum;
  const GemmShape& s = d.shape();
  for (int v = 0; v < vectors; ++v) {
    Random random(~seed, static_cast<uint64_t>(v));
    std::vector<Sum> x(static_cast<size_t>(s.n));
    for (Sum& value : x) value = Vector::value(random);
    const std::vector<Sum> bx = times<In>(d.b(), s.k, s.n, x, team);
    const std::vector<Sum> abx = times<In>(d.a(), s.m, s.k, bx, team);
    const std::vector<Sum> cx = times<Out>(d.c(), s.m, s.n, x, team);
    for (size_t i = 0; i < cx.size(); ++i) each(cx[i], abx[i], i);
  }
}

template <typename In, typename Out>
ProductCheck check_floats(const GemmData& d, uint64_t seed, int vectors, Team& team) {
  const GemmShape& s = d.shape();
  const std::vector<double> rows = squared_norms<In>(d.a(), s.m, s.k, team);
  double b = 0;
  for (const double v : squared_norms<In>(d.b(), s.k, s.n, team)) b += v;
  ProductCheck out{.passed = true};
  double worst = -1;
  compare_rows<In, Out, FloatVector>(
      d, seed, vectors, team, [&](double left, double right, size_t row) {
        constexpr double kInfinite = std::numeric_limits<double>::infinity();
        const double apart = std::abs(left - right);
        const double difference = std::isfinite(apart) ? apart : kInfinite;
        const double limit = freivalds_limit(d.type(), std::sqrt(rows[row]), std::sqrt(b)) +
                             kOwnRounding * 0x1p-53 * std::abs(right);
        const double share = difference == 0           ? 0
                             : difference == kInfinite ? kInfinite
                                                       : difference / limit;
        if (share <= worst) return;
        worst = share;
        out = {share <= 1, difference, limit};
        if (!out.passed)
          out.detail =
              said("gemm.row_wrong", row, fmt::format("{}", left), fmt::format("{}", right));
      });
  return out;
}

ProductCheck check_integers(const GemmData& d, uint64_t seed, int vectors, Team& team) {
  std::vector<bool> wrong(static_cast<size_t>(d.shape().m));
  ProductCheck out;
  compare_rows<int8_t, int32_t, IntVector>(d, seed, vectors, team,
                                           [&](uint64_t left, uint64_t right, size_t row) {
                                             if (left == right || wrong[row]) return;
                                             wrong[row] = true;
                                             out.value += 1;
                                             if (out.detail.empty())
                                               out.detail = said("gemm.row_first_wrong", row);
                                           });
  out.passed = out.value == 0;
  return out;
}

}  // namespace

double freivalds_limit(GemmType type, double norm_of_row, double norm_of_b) {
  const double unit_roundoff = type == GemmType::fp64 ? 0x1p-53 : 0x1p-24;
  return 8 * unit_roundoff * norm_of_row * norm_of_b;
}

ProductCheck check_product(const GemmData& d, uint64_t seed, int vectors, Team& team) {
  switch (d.type()) {
    case GemmType::fp64:
      return check_floats<double, double>(d, seed, vectors, team);
    case GemmType::fp32:
      return check_floats<float, float>(d, seed, vectors, team);
    case GemmType::bf16:
      return check_floats<uint16_t, float>(d, seed, vectors, team);
    case GemmType::int8:
      return check_integers(d, seed, vectors, team);
  }
  return {};
}

}  // namespace cb
