// Attention without scores in memory, against the formulas in double precision. Limits are those of
// bf16: probabilities, and gradients of scores, are rounded once, by at most 2⁻⁸ of each.
#include "tests/unit/kernels/flash_data.h"

using namespace cb::kernels;
using namespace train_data;
using namespace flash_data;
using on_executor::in_every_order;

namespace cb::kernels {
int no_mask_train_flash(const TrainFlash& f, void* stream);
int mask_one_off_train_flash(const TrainFlash& f, void* stream);
int other_head_train_flash(const TrainFlash& f, void* stream);
int shifted_tile_train_flash(const TrainFlash& f, void* stream);
int no_rescaling_train_flash(const TrainFlash& f, void* stream);
}  // namespace cb::kernels

namespace {

// One row, less than a tile, whole tiles, rows and keys beyond tiles; heads that share and do not.
constexpr FlashSizes kFlashSizes[] = {{1, 1, 1, 1, 64},  {2, 17, 2, 1, 128},  {1, 64, 1, 1, 64},
                                      {1, 80, 4, 2, 64}, {1, 130, 1, 1, 128}, {1, 130, 8, 1, 64}};

// How many numbers of the forward are wrong.
template <typename Launch>
std::size_t wrong_forward(const FlashSizes& z, Launch launch, const FlashInput& in) {
  DeviceArray<float> out(at(z.rows() * z.wide()), "out"), sums(at(z.rows() * z.heads), "sums");
  for (float& x : out) x = -777;
  for (float& x : sums) x = -777;
  REQUIRE(launch(TrainFlash{in.qkv.data(), out.data(), sums.data(), z.batch, z.sequence, z.heads,
                            z.kv_heads, z.dim},
                 nullptr) == 0);
  const FlashForward want = flash_forward(z, in);
  return beyond(out, want.out, want.out_limit) + wrong(sums, want.sums, 1e-5);
}

}  // namespace

TEST_CASE("attention by tiles gives what the formulas give") {
  for (const FlashSizes& z : kFlashSizes) {
    CAPTURE(z.sequence);
    CAPTURE(z.heads);
    const FlashInput in(z, 1);
    for (const std::uint64_t seed : {0, 1}) {
      const device_executor::WithSettings with({.shuffled = seed != 0, .seed = seed});
      CHECK(wrong_forward(z, launch_train_flash, in) == 0);
    }
  }
}

TEST_CASE("mistakes in attention by tiles are beyond its limits") {
  const FlashSizes z{1, 80, 4, 2, 64};
  const FlashInput in(z, 1);
  CHECK(wrong_forward(z, launch_train_flash, in) == 0);
  CHECK(wrong_forward(z, no_mask_train_flash, in) > 1000);
  CHECK(wrong_forward(z, mask_one_off_train_flash, in) > 1000);
  CHECK(wrong_forward(z, other_head_train_flash, in) > 1000);
  CHECK(wrong_forward(z, shifted_tile_train_flash, in) > 1000);
  CHECK(wrong_forward(z, no_rescaling_train_flash, in) > 100);
  // An output of zeros is beyond them, too.
  const FlashForward want = flash_forward(z, in);
  DeviceArray<float> zeros(want.out.size(), "zeros");
  for (float& x : zeros) x = 0;
  CHECK(beyond(zeros, want.out, want.out_limit) > want.out.size() / 2);
}

TEST_CASE("a NaN of a query stays in its row and head, one of a key comes to those that see it") {
  const FlashSizes z{1, 70, 2, 2, 64};
  FlashInput in(z, 1);
  in.qkv[at(5 * z.stride() + 64 + 3)] = 0x7fc0;         // head 1, query 5
  in.qkv[at(66 * z.stride() + z.wide() + 1)] = 0x7fc0;  // kv head 0, key 66
  CHECK(wrong_forward(z, launch_train_flash, in) == 0);
}

TEST_CASE("attention by tiles refuses what it does not compute") {
  CHECK(launch_train_flash({nullptr, nullptr, nullptr, 1, 8, 2, 1, 96}, nullptr) != 0);
  CHECK(launch_train_flash({nullptr, nullptr, nullptr, 1, 8, 3, 2, 64}, nullptr) != 0);
  CHECK(launch_train_flash({nullptr, nullptr, nullptr, 0, 8, 2, 1, 64}, nullptr) == 0);
}
