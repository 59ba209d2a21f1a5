// Products of few rows, attention of one token over a cache, and the next token, against formulas
// in double precision.
#include <cstring>

#include "kernels/infer.h"
#include "tests/unit/kernels/train_data.h"

using namespace cb::kernels;
using namespace train_data;
using on_executor::in_every_order;

namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

// Bits of a number that has few, so that bf16 holds it.
std::uint16_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}
float eighth(std::uint64_t i, std::uint64_t seed) { return std::round(number(i, seed) * 16) / 8; }

struct ProductSize {
  std::int64_t rows, outputs, inputs;
};
// One row of the weights for a warp, inputs below and beyond a warp's loads, with and without a
// rest, and strides that no vector divides. Of bf16 those of 32, 128, 288 and 1312 inputs take
// tensor cores: a warp, four steps of one, a rest of steps, a second turn.
constexpr ProductSize kFewRows[] = {{1, 1, 1},     {1, 17, 128}, {2, 5, 264},  {3, 16, 35},
                                    {8, 33, 40},   {5, 2, 1032}, {8, 33, 32},  {3, 16, 288},
                                    {4, 18, 1312}, {1, 5, 1100}, {2, 5, 1100}, {13, 18, 1312},
                                    {9, 3, 288},   {16, 5, 32}};

std::vector<double> product_of(DeviceArray<float>& x, const std::vector<float>& w,
                               const ProductSize& s, std::int64_t gap) {
  std::vector<double> out(at(s.rows * (s.outputs + gap)), 7);
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t n = 0; n < s.outputs; ++n) {
      double sum = 0;
      for (std::int64_t i = 0; i < s.inputs; ++i)
        sum += static_cast<double>(x[at(r * (s.inputs + gap) + i)]) *
               static_cast<double>(w[at(n * (s.inputs + gap) + i)]);
      out[at(r * (s.outputs + gap) + n)] = sum;
    }
  return out;
}

}  // namespace

TEST_CASE("a product of few rows, of fp32 and of bf16 weights") {
  for (const ProductSize& s : kFewRows)
    for (const std::int64_t gap : {0, 3, 8})
      for (const bool narrow : {false, true}) {
        if (s.rows > infer_most_rows && (!narrow || gap == 3)) continue;  // refused
        CAPTURE(s.inputs);
        CAPTURE(gap);
        CAPTURE(narrow);
        in_every_order([&] {
          DeviceArray<float> x(at(s.rows * (s.inputs + gap)), "x"),
              wide(at(s.outputs * (s.inputs + gap)), "w"), y(at(s.rows * (s.outputs + gap)), "y");
          DeviceArray<std::uint16_t> bits(wide.size(), "w of bf16"), x_bits(x.size(), "x of bf16");
          for (std::size_t i = 0; i < x.size(); ++i) x[i] = eighth(i, 1);
          for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = eighth(i, 2);
          for (std::int64_t row = 1; row < s.rows; row += 8)  // in these rows alone
            x[at(row * (s.inputs + gap))] = kNan;
          for (std::size_t i = 0; i < wide.size(); ++i) bits[i] = bits_of(wide[i]);
          for (std::size_t i = 0; i < x.size(); ++i) x_bits[i] = bits_of(x[i]);
          for (float& to : y) to = 7;
          const std::vector<float> w(wide.begin(), wide.end());
          const InferProduct p{narrow ? static_cast<const void*>(x_bits.data()) : x.data(),
                               narrow ? static_cast<const void*>(bits.data()) : wide.data(),
                               y.data(),
                               s.rows,
                               s.outputs,
                               s.inputs,
                               s.inputs + gap,
                               s.inputs + gap,
                               s.outputs + gap,
                               narrow};
          REQUIRE(launch_infer_product(p, nullptr) == 0);
          CHECK(wrong(y, product_of(x, w, s, gap)) == 0);
        });
      }
}

TEST_CASE("a row's result has the same bits whatever stands beside it; more rows are refused") {
  const std::int64_t inputs = 1120, outputs = 3;
  for (const bool narrow : {false, true}) {
    const std::int64_t most = narrow ? infer_most_tile_rows : infer_most_rows;
    DeviceArray<std::uint16_t> x(at(most * inputs * 2), "x"), w(at(outputs * inputs * 2), "w");
    DeviceArray<float> y(at(most * outputs), "y"), alone(y.size(), "alone");
    const std::int64_t each = narrow ? 1 : 2;  // halves of an element: the upper one is last
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = bits_of(number(i, 1));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = bits_of(number(i, 2));
    InferProduct p{x.data(), w.data(), y.data(), most,    outputs,
                   inputs,   inputs,   inputs,   outputs, narrow};
    p.rows = 1;
    for (std::int64_t r = 0; r < most; ++r) {
      p.x = x.data() + r * inputs * each;
      p.y = alone.data() + r * outputs;
      REQUIRE(launch_infer_product(p, nullptr) == 0);
    }
    p.x = x.data();
    p.y = y.data();
    for (std::int64_t rows = 1; rows <= most; ++rows) {
      p.rows = rows;
      REQUIRE(launch_infer_product(p, nullptr) == 0);
      for (std::size_t i = 0; i < at(rows * outputs); ++i) CHECK(alone[i] == y[i]);
    }
    p.rows = most + 1;
    CHECK(launch_infer_product(p, nullptr) != 0);
    p.rows = infer_most_rows + 1;
    p.inputs = inputs - 1;  // not for tensor cores
    CHECK(launch_infer_product(p, nullptr) != 0);
  }
}

namespace {

struct CacheSize {
  std::int64_t sequences, heads, kv_heads, dim, past, capacity;
};
// One position; a chunk and one more; more heads than a block has at a time; dim beyond a block. Of
// 32 to 256 elements those that 8, 16 and 32 threads read together, in either type.
constexpr CacheSize kCaches[] = {
    {1, 1, 1, 2, 0, 1},    {2, 4, 2, 6, 64, 70},    {1, 10, 1, 34, 3, 130},
    {2, 2, 1, 300, 1, 2},  {1, 8, 4, 16, 127, 200}, {1, 9, 1, 32, 70, 80},
    {1, 2, 1, 64, 66, 70}, {2, 2, 1, 128, 20, 30},  {1, 2, 2, 256, 64, 65}};

// Of the middle of each row: what one head gets.
std::vector<double> attention_of(const InferAttention& a, const std::vector<float>& q,
                                 const std::vector<float>& cache) {
  std::vector<double> out;
  const std::int64_t kept = 2 * a.kv_heads * a.dim;
  for (std::int64_t b = 0; b < a.sequences; ++b)
    for (std::int64_t h = 0; h < a.heads; ++h) {
      const std::int64_t kv = h / (a.heads / a.kv_heads);
      std::vector<double> sums(at(a.dim));
      double total = 0;
      for (std::int64_t p = 0; p <= a.past; ++p) {
        const std::int64_t row = (b * a.capacity + p) * kept + kv * a.dim;
        double score = 0;
        for (std::int64_t i = 0; i < a.dim; ++i)
          score += static_cast<double>(q[at(b * a.stride + h * a.dim + i)]) *
                   static_cast<double>(cache[at(row + i)]);
        const double weight = std::exp(score * static_cast<double>(a.scale));
        total += weight;
        for (std::int64_t i = 0; i < a.dim; ++i)
          sums[at(i)] += weight * static_cast<double>(cache[at(row + a.kv_heads * a.dim + i)]);
      }
      for (const double sum : sums) out.push_back(sum / total);
    }
  return out;
}

}  // namespace

TEST_CASE("attention over a cache of fp32 and bf16, by a number of the host and of the device") {
  for (const CacheSize& s : kCaches)
    for (const bool narrow : {false, true})
      for (const bool on_device : {false, true}) {
        CAPTURE(s.dim);
        CAPTURE(narrow);
        CAPTURE(on_device);
        in_every_order([&] {
          const std::int64_t stride = (s.heads + 2 * s.kv_heads) * s.dim;
          const std::int64_t rows = s.sequences * s.capacity;
          DeviceArray<float> q(at(s.sequences * stride), "q"),
              wide(at(rows * 2 * s.kv_heads * s.dim), "cache"), position(1, "position"),
              out(at(s.sequences * s.heads * s.dim), "out"),
              parts(at(infer_attention_parts(s.sequences, s.heads, s.dim, s.capacity)), "parts");
          DeviceArray<std::uint16_t> bits(wide.size(), "cache of bf16");
          fill(q, 1);
          for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = eighth(i, 3);
          for (std::size_t i = 0; i < wide.size(); ++i) bits[i] = bits_of(wide[i]);
          position[0] = static_cast<float>(s.past);
          InferAttention a{q.data(),
                           narrow ? static_cast<const void*>(bits.data()) : wide.data(),
                           out.data(),
                           parts.data(),
                           on_device ? position.data() : nullptr,
                           s.sequences,
                           s.heads,
                           s.kv_heads,
                           s.dim,
                           stride,
                           s.past,
                           s.capacity,
                           0.5F,
                           narrow};
          const auto wanted = attention_of(a, {q.begin(), q.end()}, {wide.begin(), wide.end()});
          if (on_device) a.past = 0;
          REQUIRE(launch_infer_attention(a, nullptr) == 0);
          CHECK(wrong(out, wanted) == 0);
          if (on_device) return;
          DeviceArray<std::uint16_t> rounded(out.size(), "out of bf16"), found(out.size(), "found");
          const auto count = static_cast<std::int64_t>(out.size());
          REQUIRE(launch_train_narrow({out.data(), rounded.data(), 1, 1, count, count, count},
                                      nullptr) == 0);
          a.out = found.data();
          a.narrow_out = true;
          REQUIRE(launch_infer_attention(a, nullptr) == 0);
          CHECK(std::equal(found.begin(), found.end(), rounded.begin()));
        });
      }
}

TEST_CASE("more chunks than the join holds weights of at a time") {
  const std::int64_t capacity = 65700, past = 65650;  // 1,026 chunks
  DeviceArray<float> q(2, "q"), cache(at(capacity * 4), "cache"), out(2, "out"),
      parts(at(infer_attention_parts(1, 1, 2, capacity)), "parts");
  fill(q, 1);
  fill(cache, 2);
  const InferAttention a{q.data(), cache.data(), out.data(), parts.data(), nullptr, 1, 1, 1, 2, 4,
                         past,     capacity,     1,          false};
  REQUIRE(launch_infer_attention(a, nullptr) == 0);
  CHECK(wrong(out, attention_of(a, {q.begin(), q.end()}, {cache.begin(), cache.end()})) == 0);
}

TEST_CASE("a NaN of a seen position is in the heads that see it, one behind it is in none") {
  for (const std::int64_t dim : {2, 32, 64, 128, 256})
    for (const bool narrow : {false, true}) {
      CAPTURE(dim);
      CAPTURE(narrow);
      in_every_order([&] {
        DeviceArray<float> q(at(6 * dim), "q"), wide(at(70 * 4 * dim), "cache"),
            out(at(4 * dim), "out"), parts(at(infer_attention_parts(1, 4, dim, 70)), "parts");
        DeviceArray<std::uint16_t> bits(wide.size(), "cache of bf16");
        fill(q, 1);
        fill(wide, 2);
        for (std::size_t i = at(66 * 4 * dim + dim); i < wide.size(); ++i) wide[i] = kNan;
        for (std::size_t i = 0; i < wide.size(); ++i) bits[i] = bits_of(wide[i]);
        // Of position 66 the second pair of heads has NaN as a key; nobody sees what is behind.
        for (std::int64_t i = 2 * dim; i < 4 * dim; ++i) {
          wide[at(66 * 4 * dim + i)] = 0;
          bits[at(66 * 4 * dim + i)] = 0;
        }
        InferAttention a{q.data(),   narrow ? static_cast<const void*>(bits.data()) : wide.data(),
                         out.data(), parts.data(),
                         nullptr,    1,
                         4,          2,
                         dim,        8 * dim,
                         65,         70,
                         1,          narrow};
        REQUIRE(launch_infer_attention(a, nullptr) == 0);
        for (const float value : out) CHECK(std::isfinite(value));
        a.past = 66;
        REQUIRE(launch_infer_attention(a, nullptr) == 0);
        for (std::size_t i = 0; i < out.size(); ++i)
          CHECK(std::isnan(out[i]) == (i >= at(2 * dim)));
      });
    }
}

TEST_CASE("the first of the largest logits is chosen, and its row of the table follows") {
  in_every_order([] {
    const std::int64_t width = 300, first = 600;
    DeviceArray<float> logits(at(3 * width), "logits"), top(3, "top"), marks(5, "marks"),
        candidates(4, "candidates");
    fill(logits, 1);
    logits[299] = logits[270] = 2;
    for (std::size_t r = 0; r < 3; ++r) top[r] = 2;
    logits[at(width)] = 2;  // of row 1; row 2 has none: another rank has it
    for (float& mark : marks) mark = 0;
    const InferChoice c{logits.data(), top.data(), marks.data(), candidates.data(), 3, width,
                        first,         5};
    REQUIRE(launch_infer_choice(c, nullptr) == 0);
    CHECK(candidates[0] == -870);
    CHECK(candidates[1] == -600);
    CHECK(candidates[2] == kLowest);
    CHECK(candidates[3] == 0);
    marks[4] = 1;
    REQUIRE(launch_infer_choice(c, nullptr) == 0);
    CHECK(candidates[3] == 1);

    DeviceArray<float> table(at(width * 5), "table"), out(15, "out");
    fill(table, 2);
    candidates[2] = -599;  // of the part before
    REQUIRE(launch_infer_embed({table.data(), candidates.data(), out.data(), 3, 5, first, width},
                               nullptr) == 0);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(out[i] == table[270 * 5 + i]);
      CHECK(out[5 + i] == table[i]);
      CHECK(out[10 + i] == 0);
    }
  });
}

TEST_CASE("the largest of a row, of fewer numbers than threads and of more; no NaN") {
  for (const std::int64_t width : {1, 70, 5000})
    in_every_order([&] {
      DeviceArray<float> logits(at(3 * width), "logits"), top(3, "top");
      fill(logits, 1);
      logits[at(width - 1)] = 3;
      logits[at(width)] = 4;
      if (width > 1) logits[at(width + 1)] = kNan;
      for (std::int64_t i = 0; i < width; ++i) logits[at(2 * width + i)] = kNan;
      REQUIRE(launch_infer_row_max(logits.data(), top.data(), 3, width, nullptr) == 0);
      CHECK(top[0] == 3);
      CHECK(top[1] == 4);
      CHECK(top[2] == -std::numeric_limits<float>::infinity());
    });
}

TEST_CASE("a number that is not finite sets the mark, from any place; finite ones leave it") {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{256}, std::size_t{1003}, std::size_t{9001}})
    in_every_order([&] {
      DeviceArray<float> x(size, "x"), mark(1, "mark");
      fill(x, 1);
      mark[0] = 0;
      const auto look = [&] {
        REQUIRE(launch_infer_mark(x.data(), static_cast<std::int64_t>(size), mark.data(),
                                  nullptr) == 0);
        return mark[0];
      };
      CHECK(look() == 0);
      x[size - 1] = -std::numeric_limits<float>::infinity();
      CHECK(look() == 1);
      x[size - 1] = 1;
      CHECK(look() == 1);  // until it is cleared
      mark[0] = 0;
      x[size / 2] = kNan;
      CHECK(look() == 1);
    });
}

TEST_CASE("positions of the device stand for those of the host; a cache of bf16 is rounded") {
  in_every_order([] {
    DeviceArray<float> from(6, "from"), to(24, "to"), position(1, "position");
    DeviceArray<std::uint16_t> narrow(24, "narrow");
    fill(from, 1);
    for (float& value : to) value = 9;
    for (std::uint16_t& value : narrow) value = 9;
    from[1] = 1 + 0x1p-9F;
    position[0] = 2;
    TrainRows r{from.data(), to.data(), 2, 3, 3, 1, 0, 4, position.data()};
    REQUIRE(launch_train_append(r, nullptr) == 0);
    r.to = narrow.data();
    r.narrow = true;
    REQUIRE(launch_train_append(r, nullptr) == 0);
    for (std::size_t i = 0; i < 24; ++i) {
      const std::size_t row = i / 3, sequence = row / 4;
      const bool written = row % 4 == 2;
      CHECK(to[i] == (written ? from[sequence * 3 + i % 3] : 9));
      if (!written) CHECK(narrow[i] == 9);
    }
    CHECK(narrow[2 * 3 + 1] == bits_of(1));

    DeviceArray<float> x(4, "x"), again(4, "again"), angles(12, "angles");
    fill(x, 2);
    std::copy(x.begin(), x.end(), again.begin());
    fill(angles, 3);
    TrainRotation turn{x.data(), angles.data(),  angles.data() + 6, 1, 1, 0, 1, 4, 4,
                       1,        position.data()};
    REQUIRE(launch_train_rotate(turn, nullptr) == 0);
    turn.x = again.data();
    turn.position = nullptr;
    turn.past = 2;
    REQUIRE(launch_train_rotate(turn, nullptr) == 0);
    for (std::size_t i = 0; i < 4; ++i) CHECK(x[i] == again[i]);
  });
}

TEST_CASE("positions that a grid does not hold are refused") {
  InferAttention a{};
  a.sequences = a.heads = a.kv_heads = 1;
  a.dim = 2;
  a.capacity = 65536 * infer_chunk;
  CHECK(launch_infer_attention(a, nullptr) != 0);
}
