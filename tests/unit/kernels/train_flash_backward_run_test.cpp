// Gradients of attention without scores in memory, against the formulas in double precision.
#include "tests/unit/kernels/flash_data.h"

using namespace cb::kernels;
using namespace train_data;
using namespace flash_data;

namespace cb::kernels {
int keys_no_mask_train_flash_backward(const TrainFlashBackward& f, void* stream);
int queries_mask_one_off_train_flash_backward(const TrainFlashBackward& f, void* stream);
int first_head_only_train_flash_backward(const TrainFlashBackward& f, void* stream);
int no_dots_train_flash_backward(const TrainFlashBackward& f, void* stream);
int stale_stage_train_flash_backward(const TrainFlashBackward& f, void* stream);
}  // namespace cb::kernels

namespace {

// What a backward is given besides queries, keys and values, and what it may give.
struct FlashBackwardCase {
  FlashSizes z;
  FlashInput in;
  DeviceArray<float> out, dout, sums;
  std::vector<double> dqkv, limit;

  explicit FlashBackwardCase(const FlashSizes& sizes)
      : z(sizes),
        in(z, 1),
        out(at(z.rows() * z.wide()), "out"),
        dout(out.size(), "dout"),
        sums(at(z.rows() * z.heads), "sums"),
        dqkv(at(z.rows() * z.stride())),
        limit(dqkv.size(), 1e-5) {
    const FlashForward forward = flash_forward(z, in);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(forward.out[i]);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(forward.sums[i]);
    for (std::size_t i = 0; i < dout.size(); ++i)  // as bf16 has them
      dout[i] = static_cast<float>(value_of(bfloat16_of(number(i, 2))));
    for (std::int64_t b = 0; b < z.batch; ++b)
      for (std::int64_t h = 0; h < z.heads; ++h)
        for (std::int64_t i = 0; i < z.sequence; ++i) add_row(b, h, i);
  }

  // Gradients that one row of one head gives: dS = p·(dP − D) is rounded to bf16, and so is p.
  void add_row(std::int64_t b, std::int64_t h, std::int64_t i) {
    const FlashRow row = flash_row(z, in, b, i, h);
    const std::int64_t kv = z.heads + h / (z.heads / z.kv_heads), first = b * z.sequence;
    const std::size_t mine = at((first + i) * z.wide() + h * z.dim);
    const auto given = [&](DeviceArray<float>& from, std::int64_t d) {
      return static_cast<double>(from[mine + at(d)]);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(z.dim));
    double dot = 0;
    for (std::int64_t d = 0; d < z.dim; ++d) dot += given(out, d) * given(dout, d);
    for (std::int64_t j = 0; j <= i; ++j) {
      double dp = 0;
      for (std::int64_t d = 0; d < z.dim; ++d)
        dp += given(dout, d) * in.of(z, first + j, kv + z.kv_heads, d);
      const double ds = row.p[at(j)] * (dp - dot) * scale;
      for (std::int64_t d = 0; d < z.dim; ++d) {
        add(first + i, h, d, ds * in.of(z, first + j, kv, d));
        add(first + j, kv, d, ds * in.of(z, first + i, h, d));
        add(first + j, kv + z.kv_heads, d, row.p[at(j)] * given(dout, d));
      }
    }
  }
  void add(std::int64_t row, std::int64_t part, std::int64_t d, double value) {
    const std::size_t here = at(row * z.stride() + part * z.dim + d);
    dqkv[here] += value;
    limit[here] += 0x1p-8 * std::abs(value) + 1e-6;
  }

  template <typename Launch>
  std::vector<float> run(Launch launch) {
    DeviceArray<float> got(dqkv.size(), "dqkv"),
        dots(at(train_flash_dots(z.batch, z.sequence, z.heads)), "dots");
    DeviceArray<std::uint16_t> narrow(dout.size(), "narrow");
    for (float& x : got) x = -777;
    const int code = launch(TrainFlashBackward{in.qkv.data(), out.data(), dout.data(), sums.data(),
                                               got.data(), narrow.data(), dots.data(), z.batch,
                                               z.sequence, z.heads, z.kv_heads, z.dim},
                            nullptr);
    REQUIRE(code == 0);
    return {got.begin(), got.end()};
  }
  std::size_t wrong_in(const std::vector<float>& got) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) wrong += beyond(got[i], dqkv[i], limit[i]);
    return wrong;
  }
  template <typename Launch>
  std::size_t wrong_by(Launch launch) {
    return wrong_in(run(launch));
  }
};

constexpr FlashSizes kBackwardSizes[] = {{1, 1, 1, 1, 64},
                                         {2, 17, 2, 1, 128},
                                         {1, 64, 1, 1, 64},
                                         {1, 130, 2, 1, 64},
                                         {1, 70, 1, 1, 128}};

}  // namespace

TEST_CASE("gradients of attention by tiles are those of the formulas, in every order") {
  for (const FlashSizes& z : kBackwardSizes) {
    CAPTURE(z.sequence);
    CAPTURE(z.dim);
    FlashBackwardCase one(z);
    const std::vector<float> got = one.run(launch_train_flash_backward);
    CHECK(one.wrong_in(got) == 0);
    const device_executor::WithSettings with({.shuffled = true, .seed = 1});
    CHECK(one.run(launch_train_flash_backward) == got);  // bit by bit
  }
}

TEST_CASE("mistakes in gradients of attention by tiles are beyond their limits") {
  FlashBackwardCase one({1, 80, 4, 2, 64});
  CHECK(one.wrong_by(launch_train_flash_backward) == 0);
  CHECK(one.wrong_by(keys_no_mask_train_flash_backward) > 1000);
  CHECK(one.wrong_by(queries_mask_one_off_train_flash_backward) > 1000);
  CHECK(one.wrong_by(first_head_only_train_flash_backward) > 1000);
  CHECK(one.wrong_by(no_dots_train_flash_backward) > 1000);
  CHECK(one.wrong_in(std::vector<float>(one.dqkv.size())) > one.dqkv.size() / 2);
  if (!device_executor::sees_accesses()) return;
  CHECK_THROWS_AS(one.run(stale_stage_train_flash_backward), device_executor::Fault);
}

TEST_CASE("a NaN of a gradient comes out in its query and in all keys that the query sees") {
  FlashBackwardCase one({1, 70, 2, 2, 64});
  one.dout[at(20 * one.z.wide() + 64 + 7)] = kNan;  // head 1, row 20
  const std::vector<float> got = one.run(launch_train_flash_backward);
  const auto number_of = [&](std::int64_t row, std::int64_t part) {
    return got[at(row * one.z.stride() + part * one.z.dim + 7)];
  };
  CHECK(std::isnan(number_of(20, 1)));
  CHECK_FALSE(std::isnan(number_of(20, 0)));
  CHECK_FALSE(std::isnan(number_of(21, 1)));
  for (const std::int64_t key : {0, 20}) {
    CHECK(std::isnan(number_of(key, 3)));
    CHECK(std::isnan(number_of(key, 5)));
    CHECK_FALSE(std::isnan(number_of(key, 2)));
  }
}
