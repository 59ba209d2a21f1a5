// The training step's operations on host memory. A library multiplies on one thread at a time and
// the team divides the work: no second set of threads competes for the cores, and the division,
// and so the result, depends on shapes and the number of threads alone.
#include "bench/training/host_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "bench/cpu/memory.h"
#include "bench/cpu/random.h"
#include "bench/training/angles.h"
#include "bench/training/host_attention.h"
#include "core/clock.h"
#include "kernels/hash.h"

namespace cb::training {
namespace {

// Below these the caller alone is faster than waking the team, which takes some microseconds.
constexpr int64_t kAlone = 1 << 15;         // elements of a loop
constexpr int64_t kProductAlone = 1 << 20;  // m·n·k of a product
constexpr int64_t kWeightsAlone = 1 << 17;  // elements of B where A has few rows: its bytes count
constexpr int64_t kChunk = 1 << 14;         // elements of a partial sum
// Up to here reading B takes longer than multiplying, and packing it would read it twice.
constexpr int64_t kFewRows = 8;

// Adds the time of its life to one kind of work.
class Timed {
 public:
  Timed(Ledger& ledger, Work work) : ledger_(ledger), work_(work), start_(monotonic_seconds()) {}
  ~Timed() { ledger_.seconds[static_cast<size_t>(work_)] += monotonic_seconds() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Ledger& ledger_;
  Work work_;
  double start_;
};

template <typename Real>
class HostBackend final : public Backend<Real> {
 public:
  HostBackend(Team& team, ThreadProduct<Real> product)
      : team_(team), rows_(row_kernels_of(Real())), product_(std::move(product)) {
    if (!product_) product_ = rows_.product;
  }

  std::shared_ptr<Real[]> allocate(int64_t count) override {
    const int64_t bytes = std::max<int64_t>(count, 1) * static_cast<int64_t>(sizeof(Real));
    auto pages = make_pages<Real>(static_cast<size_t>(std::max<int64_t>(count, 1)));
    Real* memory = pages.release();
    *allocated_ += bytes;
    std::shared_ptr<Real[]> out(memory, [bytes, held = allocated_](Real* p) {
      FreeMemory()(p);
      *held -= bytes;
    });
    zero(memory, count);
    return out;
  }
  int64_t allocated_bytes() const override { return *allocated_; }
  Ledger take_ledger() override { return std::exchange(ledger_, Ledger()); }
  void finish() override {}
  bool on_host() const override { return true; }
  void put(Real* to, const Real* host, int64_t count) override { copy(to, host, count); }
  void look(Real* host, const Real* from, int64_t count) override { copy(host, from, count); }

  Recorded record(const std::function<void()>&) override { return {}; }
  void freeze(const Real*, int64_t) override {}

  void matmul(const Product<Real>& p) override {
    const Timed timed(ledger_, Work::matmul);
    const auto [m, n, k] = p.shape;
    ++ledger_.matmuls[{m, n, k, p.transpose_a, p.transpose_b}];
    const bool few = m <= kFewRows && !p.transpose_a && p.transpose_b && p.beta == 0;
    const bool alone = few ? n * k < kWeightsAlone : m * n * k < kProductAlone;
    const auto call = [&](const Product<Real>& part) {
      return few ? rows_.few_rows(part) : product_(part);
    };
    if (team_.size() == 1 || alone) return call(p);
    const Grid grid = few ? Grid{1, team_.size()} : product_grid(m, n, team_.size());
    team_.run([&](int index) { part_of_product(p, grid, index, call); });
  }

  void rmsnorm(const Real* x, const Real* gain, Real* y, Real* scale, int64_t rows,
               int64_t width) override {
    by_rows(Work::elementwise, rows, width, 2, [&](int64_t from, int64_t count, int) {
      rows_.rmsnorm(x + from * width, gain, y + from * width, scale + from, count, width);
    });
  }

  void rmsnorm_backward(const Real* dy, const Real* x, const Real* gain, const Real* scale,
                        Real* dx, Real* dgain, int64_t rows, int64_t width) override {
    std::vector<Real> parts(static_cast<size_t>(team_.size() * width));
    by_rows(Work::elementwise, rows, width, 4, [&](int64_t from, int64_t count, int index) {
      rows_.rmsnorm_backward(dy + from * width, x + from * width, gain, scale + from,
                             dx + from * width, parts.data() + index * width, count, width);
    });
    for (int i = 0; i < team_.size(); ++i) rows_.add(dgain, parts.data() + i * width, width);
  }

  void rotate(Real* qkv, const AttentionShape& s, Real direction) override {
    require_angles(s);
    const int64_t turned = s.heads + s.kv_heads, at = s.past * s.dim / 2;
    by_rows(Work::elementwise, s.tokens(), turned * s.dim, 2,
            [&](int64_t from, int64_t count, int) {
              rows_.rotate(qkv + from * s.stride(), cosines_.data() + at, sines_.data() + at, count,
                           from, s.sequence, turned, s.dim, s.stride(), direction);
            });
  }

  void attention(const Real* qkv, Real* out, Real* log_sums, const AttentionShape& s) override {
    const Timed timed(ledger_, Work::attention);
    ++ledger_.attention_forwards;
    tools().forward(qkv, out, log_sums, s);
  }

  void append(const Real* qkv, Real* cache, const AttentionShape& s) override {
    by_rows(Work::elementwise, s.tokens(), s.kept(), 2, [&](int64_t from, int64_t count, int) {
      for (int64_t r = from; r < from + count; ++r) {
        const int64_t row = r / s.sequence * s.capacity + s.past + r % s.sequence;
        std::copy_n(qkv + r * s.stride() + s.heads * s.dim, s.kept(), cache + row * s.kept());
      }
    });
  }
  void attention_cached(const Real* qkv, const Real* cache, Real* out,
                        const AttentionShape& s) override {
    const Timed timed(ledger_, Work::attention);
    ++ledger_.attention_forwards;
    tools().forward_cached(qkv, cache, out, s);
  }

  void attention_backward(const Real* qkv, const Real* out, const Real* dout, const Real* log_sums,
                          Real* dqkv, const AttentionShape& s) override {
    const Timed timed(ledger_, Work::attention);
    ++ledger_.attention_backwards;
    tools().backward(qkv, out, dout, log_sums, dqkv, s);
  }

  void swiglu(const Real* gate_up, Real* out, int64_t rows, int64_t width) override {
    by_rows(Work::elementwise, rows, width, 3, [&](int64_t from, int64_t count, int) {
      rows_.swiglu(gate_up + from * 2 * width, out + from * width, count, width);
    });
  }
  void swiglu_backward(const Real* dout, Real* gate_up, int64_t rows, int64_t width) override {
    by_rows(Work::elementwise, rows, width, 5, [&](int64_t from, int64_t count, int) {
      rows_.swiglu_backward(dout + from * width, gate_up + from * 2 * width, count, width);
    });
  }

  void embed(const Real* table, const int32_t* tokens, Real* out, int64_t rows, int64_t width,
             const VocabularyPart& part) override {
    by_rows(Work::elementwise, rows, width, 2, [&](int64_t from, int64_t count, int) {
      for (int64_t r = from; r < from + count; ++r) {
        if (part.holds(tokens[r])) {
          std::copy_n(table + (tokens[r] - part.first) * width, width, out + r * width);
        } else {
          std::fill_n(out + r * width, width, Real(0));
        }
      }
    });
  }
  // Threads share the columns, so that each row of the table gets its tokens in their order.
  void embed_backward(const Real* dout, const int32_t* tokens, Real* dtable, int64_t rows,
                      int64_t width, const VocabularyPart& part) override {
    by_rows(Work::elementwise, width, rows, 3, [&](int64_t from, int64_t count, int) {
      for (int64_t r = 0; r < rows; ++r)
        if (part.holds(tokens[r]))
          rows_.add(dtable + (tokens[r] - part.first) * width + from, dout + r * width + from,
                    count);
    });
  }

  void choose(const Real* logits, const Real* top, Real* candidates, int64_t rows,
              const VocabularyPart& part, const Real* marks, int64_t marks_count) override {
    by_rows(Work::elementwise, rows, part.count, 1, [&](int64_t from, int64_t count, int) {
      for (int64_t i = from; i < from + count; ++i) {
        const Real* row = logits + i * part.count;
        const Real* found = std::find(row, row + part.count, top[i]);
        candidates[i] = found == row + part.count ? std::numeric_limits<Real>::lowest()
                                                  : -static_cast<Real>(part.first + (found - row));
      }
    });
    candidates[rows] = std::any_of(marks, marks + marks_count, [](Real m) { return m != 0; });
  }
  void embed_chosen(const Real* table, const Real* candidates, Real* out, int64_t rows,
                    int64_t width, const VocabularyPart& part) override {
    std::vector<int32_t> tokens(static_cast<size_t>(rows));
    std::transform(candidates, candidates + rows, tokens.begin(),
                   [](Real candidate) { return static_cast<int32_t>(-candidate); });
    embed(table, tokens.data(), out, rows, width, part);
  }
  void mark_not_finite(const Real* x, int64_t count, Real* mark) override {
    if (not_finite(x, count) > 0) *mark = 1;
  }

  void row_max(const Real* logits, Real* top, int64_t rows, int64_t width) override {
    by_rows(Work::elementwise, rows, width, 1, [&](int64_t from, int64_t count, int) {
      rows_.row_max(logits + from * width, top + from, count, width);
    });
  }
  void exponentials(Real* logits, const Real* top, const int32_t* targets, Real* sums,
                    Real* at_target, int64_t rows, const VocabularyPart& part) override {
    by_rows(Work::elementwise, rows, part.count, 2, [&](int64_t from, int64_t count, int) {
      for (int64_t r = from; r < from + count; ++r)
        at_target[r] =
            part.holds(targets[r]) ? logits[r * part.count + targets[r] - part.first] - top[r] : 0;
      rows_.exponentials(logits + from * part.count, top + from, sums + from, count, part.count);
    });
  }
  void cross_entropy_backward(Real* exponentials, const Real* sums, const int32_t* targets,
                              Real factor, int64_t rows, const VocabularyPart& part) override {
    std::vector<Real> factors(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r) factors[static_cast<size_t>(r)] = factor / sums[r];
    by_rows(Work::elementwise, rows, part.count, 2, [&](int64_t from, int64_t count, int) {
      rows_.scale_rows(exponentials + from * part.count, factors.data() + from, count, part.count);
      for (int64_t r = from; r < from + count; ++r)
        if (part.holds(targets[r]))
          exponentials[r * part.count + targets[r] - part.first] -= factor;
    });
  }
  double cross_entropy(const Real* sums, const Real* at_target, int64_t rows) override {
    double total = 0;
    for (int64_t r = 0; r < rows; ++r)
      total += std::log(static_cast<double>(sums[r])) - static_cast<double>(at_target[r]);
    return total;
  }

  void add(Real* to, const Real* from, int64_t count) override {
    by_rows(Work::elementwise, count, 1, 3,
            [&](int64_t at, int64_t n, int) { rows_.add(to + at, from + at, n); });
  }
  void copy(Real* to, const Real* from, int64_t count) override {
    by_rows(Work::elementwise, count, 1, 2,
            [&](int64_t at, int64_t n, int) { std::copy_n(from + at, n, to + at); });
  }
  void zero(Real* to, int64_t count) override {
    by_rows(Work::elementwise, count, 1, 1,
            [&](int64_t at, int64_t n, int) { std::fill_n(to + at, n, Real(0)); });
  }
  void adamw(Real* weights, const Real* gradient, Real* mean, Real* square, int64_t count,
             const AdamStep& step) override {
    by_rows(Work::optimizer, count, 1, 7, [&](int64_t at, int64_t n, int) {
      rows_.adamw(weights + at, gradient + at, mean + at, square + at, n, step);
    });
  }

  double sum_squares(const Real* x, int64_t count) override {
    const int64_t chunks = (count + kChunk - 1) / kChunk;
    std::vector<double> parts(static_cast<size_t>(chunks));
    by_rows(Work::optimizer, chunks, kChunk, 1, [&](int64_t from, int64_t n, int) {
      for (int64_t c = from; c < from + n; ++c)
        parts[static_cast<size_t>(c)] =
            rows_.sum_squares(x + c * kChunk, std::min(kChunk, count - c * kChunk));
    });
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
  int64_t not_finite(const Real* x, int64_t count) override {
    std::vector<int64_t> found(static_cast<size_t>(team_.size()));
    by_rows(Work::elementwise, count, 1, 1, [&](int64_t at, int64_t n, int index) {
      found[static_cast<size_t>(index)] = rows_.not_finite(x + at, n);
    });
    int64_t all = 0;
    for (const int64_t one : found) all += one;
    return all;
  }
  uint64_t hash(const Real* x, int64_t count) override {
    constexpr auto kPerWord = static_cast<int64_t>(8 / sizeof(Real));
    const int64_t words = count / kPerWord;
    std::vector<uint64_t> sums(static_cast<size_t>(team_.size()));
    by_rows(Work::elementwise, words, kPerWord, 1, [&](int64_t from, int64_t n, int index) {
      uint64_t sum = 0;
      for (int64_t w = from; w < from + n; ++w) {
        uint64_t word = 0;
        std::memcpy(&word, x + w * kPerWord, 8);
        sum += kernels::hash_word(word, static_cast<uint64_t>(w));
      }
      sums[static_cast<size_t>(index)] = sum;
    });
    uint64_t all = 0;
    for (const uint64_t one : sums) all += one;
    if (count % kPerWord != 0) {
      uint64_t word = 0;
      std::memcpy(&word, x + words * kPerWord, sizeof(Real));
      all += kernels::hash_word(word, static_cast<uint64_t>(words));
    }
    return all;
  }

  void flip_bit(Real* element) override {
    if constexpr (sizeof(Real) == 4) {
      *element = std::bit_cast<Real>(std::bit_cast<uint32_t>(*element) ^ 0x00400000u);
    } else {
      *element = std::bit_cast<Real>(std::bit_cast<uint64_t>(*element) ^ 0x0008000000000000u);
    }
  }
  void make_nan(Real* element) override { *element = std::numeric_limits<Real>::quiet_NaN(); }

  void normal(Real* to, const typename Backend<Real>::Place& place, uint64_t stream,
              double deviation) override {
    by_rows(Work::elementwise, place.rows, place.columns, 1, [&](int64_t from, int64_t n, int) {
      for (int64_t r = from; r < from + n; ++r)
        normal_row(to + r * place.columns, place, r, stream, deviation);
    });
  }

 private:
  // Box & Muller (1958), of two counters' numbers.
  static void normal_row(Real* to, const typename Backend<Real>::Place& place, int64_t row,
                         uint64_t stream, double deviation) {
    const int64_t begin = (place.first_row + row) * place.whole_columns + place.first_column;
    for (int64_t j = 0; j < place.columns; ++j) {
      Random random(stream, static_cast<uint64_t>(begin + j));
      const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
      to[j] =
          static_cast<Real>(deviation * radius * std::cos(2 * std::numbers::pi * random.unit()));
    }
  }

  // work(first row, rows, thread): the team's threads divide the rows. `passes`: arrays of this
  // size that are read or written.
  template <typename F>
  void by_rows(Work work, int64_t rows, int64_t width, int passes, F body) {
    const Timed timed(ledger_, work);
    const double bytes = static_cast<double>(rows * width * passes) * sizeof(Real);
    (work == Work::optimizer ? ledger_.optimizer_bytes : ledger_.elementwise_bytes) += bytes;
    if (rows * width < kAlone || team_.size() == 1) return body(0, rows, 0);
    team_.run([&](int index) {
      const Range mine =
          share_of_items(static_cast<size_t>(rows), team_.size(), index, width == 1 ? 64 : 1);
      if (mine.size() > 0)
        body(static_cast<int64_t>(mine.begin), static_cast<int64_t>(mine.size()), index);
    });
  }

  template <typename Call>
  void part_of_product(const Product<Real>& p, const Grid& grid, int index, const Call& call) {
    const auto range = [](int64_t total, int parts, int part) {
      return share_of_items(static_cast<size_t>(total), parts, part, 16);
    };
    const Range rows = range(p.shape.m, grid.rows, index / grid.columns);
    const Range columns = range(p.shape.n, grid.columns, index % grid.columns);
    if (rows.size() == 0 || columns.size() == 0) return;
    Product<Real> mine = p;
    const auto r = static_cast<int64_t>(rows.begin), c = static_cast<int64_t>(columns.begin);
    mine.shape.m = static_cast<int64_t>(rows.size());
    mine.shape.n = static_cast<int64_t>(columns.size());
    mine.a += p.transpose_a ? r : r * p.lda;
    mine.b += p.transpose_b ? c * p.ldb : c;
    mine.c += r * p.ldc + c;
    call(mine);
  }

  HostAttention<Real> tools() { return {team_, rows_, product_}; }

  void require_angles(const AttentionShape& s) {
    const int64_t half = s.dim / 2, positions = std::max(s.past + s.sequence, s.capacity);
    if (static_cast<int64_t>(cosines_.size()) >= positions * half && half == angles_half_) return;
    angles_half_ = half;
    cosines_.resize(static_cast<size_t>(positions * half));
    sines_.resize(cosines_.size());
    write_angles(cosines_.data(), sines_.data(), positions, half);
  }

  Team& team_;
  const RowKernels<Real>& rows_;
  ThreadProduct<Real> product_;
  Ledger ledger_;
  std::shared_ptr<int64_t> allocated_ = std::make_shared<int64_t>(0);
  std::vector<Real> cosines_, sines_;
  int64_t angles_half_ = 0;
};

}  // namespace

Grid product_grid(int64_t m, int64_t n, int threads) {
  Grid best{threads, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int rows = 1; rows <= threads; ++rows) {
    if (threads % rows != 0) continue;
    const int columns = threads / rows;
    const double packed = static_cast<double>(m) / rows + static_cast<double>(n) / columns;
    if (packed < least) {
      least = packed;
      best = {rows, columns};
    }
  }
  return best;
}

template <typename Real>
std::unique_ptr<Backend<Real>> host_backend(Team& team, ThreadProduct<Real> product) {
  return std::make_unique<HostBackend<Real>>(team, std::move(product));
}

template std::unique_ptr<Backend<float>> host_backend(Team&, ThreadProduct<float>);
template std::unique_ptr<Backend<double>> host_backend(Team&, ThreadProduct<double>);

}  // namespace cb::training
