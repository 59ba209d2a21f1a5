// Narrow numbers, tensor cores and asynchronous copies on the executor: against values computed by
// hand, and what a kernel does wrong with them is found.
#include <cmath>
#include <string>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <doctest/doctest.h>

#include "tests/device_executor/planted/planted_tensor.h"
#include "tests/unit/kernels/on_executor.h"

using namespace planted;
using device_executor::DeviceArray;

namespace {

unsigned half_bits(float value) { return __half(value).__x; }
unsigned bfloat16_bits(float value) { return __nv_bfloat16(value).__x; }
unsigned e4m3_bits(float value) { return __nv_fp8_e4m3(value).__x; }
unsigned e5m2_bits(float value) { return __nv_fp8_e5m2(value).__x; }

template <typename Launch>
std::string told_of(Launch launch) {
  try {
    return launch() == 0 ? "" : "refused";
  } catch (const device_executor::Fault& fault) {
    return fault.what();
  }
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("halves round to the nearest, to even where two are as near") {
  CHECK(half_bits(1) == 0x3c00);
  CHECK(half_bits(-2) == 0xc000);
  CHECK(half_bits(1 + 0x1p-11F) == 0x3c00);             // between 1 and 1 + 2⁻¹⁰
  CHECK(half_bits(1 + 3 * 0x1p-11F) == 0x3c02);         // the other way
  CHECK(half_bits(1 + 0x1p-11F + 0x1p-23F) == 0x3c01);  // a little more than the middle
  CHECK(half_bits(65504) == 0x7bff);                    // the largest
  CHECK(half_bits(65519.99F) == 0x7bff);
  CHECK(half_bits(65520) == 0x7c00);     // infinite
  CHECK(half_bits(0x1p-14F) == 0x0400);  // the smallest that is normal
  CHECK(half_bits(0x1p-24F) == 0x0001);
  CHECK(half_bits(0x1p-25F) == 0x0000);  // to even
  CHECK(half_bits(3 * 0x1p-25F) == 0x0002);
  CHECK(half_bits(0x1.ff8p-15F) == 0x03ff);  // the largest subnormal
  CHECK(half_bits(-0.0F) == 0x8000);
  CHECK(half_bits(NAN) == 0x7fff);
  CHECK(std::isnan(__half2float(__ushort_as_half(0x7c01))));
  CHECK(float(__half(0.1F)) == 0.0999755859375F);
  CHECK(float(__half(0.1F) + __half(0.2F)) == 0.2998046875F);  // as NumPy's float16
  CHECK(float(__half(3) * __half(0.3F)) == 0.900390625F);
}

TEST_CASE("every half and bfloat16 comes back from a float") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = __ushort_as_half(static_cast<unsigned short>(bits));
    const auto brain = __ushort_as_bfloat16(static_cast<unsigned short>(bits));
    if (!std::isnan(float(half))) REQUIRE(half_bits(float(half)) == bits);
    if (!std::isnan(float(brain))) REQUIRE(bfloat16_bits(float(brain)) == bits);
  }
}

TEST_CASE("bfloat16 are floats cut after eight bits of the mantissa, rounded to even") {
  CHECK(bfloat16_bits(1) == 0x3f80);
  CHECK(bfloat16_bits(1 + 0x1p-8F) == 0x3f80);
  CHECK(bfloat16_bits(1 + 3 * 0x1p-8F) == 0x3f82);
  CHECK(bfloat16_bits(3.3895313892515355e38F) == 0x7f7f);  // the largest
  CHECK(bfloat16_bits(3.4e38F) == 0x7f80);
  CHECK(bfloat16_bits(-1e-40F) == 0x8001);
  CHECK(float(__nv_bfloat16(3.14159265F)) == 3.140625F);
  CHECK(__floats2bfloat162_rn(1, 2).y.__x == 0x4000);
  CHECK(__bfloat1622float2({1.5F, -2.5F}).y == -2.5F);
}

TEST_CASE("numbers of eight bits saturate: E4M3 at 448, E5M2 at 57344") {
  CHECK(e4m3_bits(1) == 0x38);
  CHECK(e4m3_bits(448) == 0x7e);
  CHECK(e4m3_bits(1e9F) == 0x7e);
  CHECK(e4m3_bits(-INFINITY) == 0xfe);
  CHECK(e4m3_bits(NAN) == 0x7f);
  CHECK(e4m3_bits(17) == 0x58);  // between 16 and 18
  CHECK(e4m3_bits(19) == 0x5a);  // between 18 and 20
  CHECK(e4m3_bits(0x1p-9F) == 0x01);
  CHECK(e4m3_bits(0x1p-10F) == 0x00);
  CHECK(float(__nv_fp8_e4m3(0.3F)) == 0.3125F);
  CHECK(std::isnan(float(__nv_fp8_e4m3(NAN))));
  CHECK(float(__nv_fp8_e4m3(300)) == 288);
  CHECK(e5m2_bits(1) == 0x3c);
  CHECK(e5m2_bits(57344) == 0x7b);
  CHECK(e5m2_bits(1e9F) == 0x7b);
  CHECK(e5m2_bits(0x1p-16F) == 0x01);
  CHECK(float(__nv_fp8_e5m2(0.3F)) == 0.3125F);
  __nv_fp8_e5m2 infinite(0);
  infinite.__x = 0x7c;
  CHECK(std::isinf(float(infinite)));
}

TEST_CASE("a multiplication of matrices, each element by hand") {
  DeviceArray<unsigned short> a(256, "a"), b(128, "b");
  DeviceArray<float> c(128, "c"), d(128, "d");
  on_executor::in_every_order([&] {
    // A takes row 15 - i of B for its row i, so D(i, n) = B(15 - i, n) + C(i, n).
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned k = 0; k < 16; ++k)
        a[i * 16 + k] = static_cast<unsigned short>(half_bits(k == 15 - i ? 1 : 0));
    for (unsigned n = 0; n < 8; ++n)
      for (unsigned k = 0; k < 16; ++k)
        b[n * 16 + k] = static_cast<unsigned short>(half_bits(static_cast<float>(k * 8 + n)));
    for (unsigned i = 0; i < 128; ++i) c[i] = 0.25F * static_cast<float>(i);
    REQUIRE(launch_multiply_once(a.data(), b.data(), c.data(), d.data(), 32) == 0);
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned n = 0; n < 8; ++n)
        CHECK(d[i * 8 + n] ==
              static_cast<float>((15 - i) * 8 + n) + 0.25F * static_cast<float>(i * 8 + n));
    const auto missing =
        told_of([&] { return launch_multiply_once(a.data(), b.data(), c.data(), d.data(), 31); });
    CHECK(has(missing, "waits in a multiplication of matrices at planted_tensor.cu:"));
    CHECK(has(missing, "and lane 31 does not come: thread (31,0,0) has ended"));
  });
}

TEST_CASE("which numbers a lane gets of four matrices, straight and transposed") {
  DeviceArray<unsigned short> from(256, "from");
  DeviceArray<unsigned> straight(128), transposed(128);
  // Number 100·matrix + 10·row + column.
  for (unsigned i = 0; i < 256; ++i)
    from[i] = static_cast<unsigned short>(i / 64 * 100 + i / 8 % 8 * 10 + i % 8);
  on_executor::in_every_order([&] {
    REQUIRE(launch_load_once(from.data(), straight.data(), transposed.data(), 0) == 0);
    // Lane 13 is of row 3 and holds columns 2 and 3.
    CHECK(straight[13 * 4] == (32U | 33U << 16));
    CHECK(straight[13 * 4 + 2] == (232U | 233U << 16));
    CHECK(transposed[13 * 4] == (23U | 33U << 16));
    CHECK(transposed[13 * 4 + 3] == (323U | 333U << 16));
    CHECK(straight[31 * 4 + 1] == (176U | 177U << 16));
    CHECK(transposed[31 * 4 + 1] == (167U | 177U << 16));
    CHECK(has(told_of([&] {
                return launch_load_once(from.data(), straight.data(), transposed.data(), 1);
              }),
              "an address that is not aligned to 16 bytes"));
    CHECK(has(told_of([&] { return launch_load_from_global(from.data(), straight.data()); }),
              "that is not of 16 bytes of shared memory"));
  });
}

TEST_CASE("a product by tiles, with copies in flight, and four ways to get it wrong") {
  DeviceArray<unsigned short> a(16 * 32, "a"), b(32 * 16, "b");
  DeviceArray<float> d(256, "d");
  const auto of_a = [](unsigned i, unsigned k) {
    return static_cast<float>((i * 5 + k * 3) % 17) - 8;
  };
  const auto of_b = [](unsigned k, unsigned n) { return static_cast<float>((k * 7 + n) % 13) - 6; };
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned k = 0; k < 32; ++k) {
      a[i * 32 + k] = static_cast<unsigned short>(bfloat16_bits(of_a(i, k)));
      b[i * 32 + k] = static_cast<unsigned short>(bfloat16_bits(of_b(k, i)));
    }
  const auto launch = [&](Mistake mistake) {
    return told_of([&] { return launch_tile_product(a.data(), b.data(), d.data(), mistake); });
  };
  on_executor::in_every_order([&] {
    REQUIRE(launch(Mistake::none) == "");
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned n = 0; n < 16; ++n) {
        float sum = 0;  // whole numbers: exact
        for (unsigned k = 0; k < 32; ++k) sum += of_a(i, k) * of_b(k, n);
        CHECK(d[i * 16 + n] == sum);
      }
    CHECK(has(launch(Mistake::lanes_missing), "and lane 31 does not come"));
    if (!device_executor::sees_accesses()) return;
    CHECK(has(launch(Mistake::no_commit), "to which a copy was begun and not waited for"));
    CHECK(has(launch(Mistake::waits_for_the_first_only),
              "of the shared variable stage_a, to which a copy was begun and not waited for"));
    const auto race = launch(Mistake::no_barrier);
    const bool found = has(race, "without a barrier between the two") ||
                       has(race, "to which a copy was begun and not waited for") ||
                       has(race, "where no thread has written");  // the other has not begun
    CHECK(found);
  });
}
