// Operands and the check of products, against sums on the host.
#include <cmath>
#include <cstring>

#include "kernels/gemm_data.h"
#include "tests/fake_cuda/numbers.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

constexpr std::uint64_t kOperandSeed = 11;

std::size_t bytes_of(Number type, std::uint64_t elements) {
  return elements * static_cast<std::uint64_t>(fake::bits_of(type)) / 8;
}

// The product of the operands' elements, stored as `stored`.
void multiply(const ProductCheck& c, void* d) {
  for (std::uint64_t column = 0; column < c.n; ++column) {
    for (std::uint64_t row = 0; row < c.m; ++row) {
      double sum = 0;
      for (std::uint64_t i = 0; i < c.k; ++i)
        sum += gemm_element(c.a, row * c.k + i, c.seed_a) *
               gemm_element(c.b, column * c.k + i, c.seed_b);
      const bool whole = c.stored == Number::int32;
      fake::store(d, c.stored, column * c.m + row, whole ? sum : round_to(sum, c.stored));
    }
  }
}

}  // namespace

TEST_CASE("operands of every type are the elements, and nothing beside them is written") {
  for (const Number type : {Number::fp64, Number::fp32, Number::tf32, Number::fp16, Number::bf16,
                            Number::fp8_e4m3, Number::fp8_e5m2, Number::int8, Number::fp4}) {
    CAPTURE(static_cast<int>(type));
    for (const std::uint64_t elements : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{514}}) {
      in_every_order([&] {
        DeviceArray<unsigned char> data(bytes_of(type, elements), "operand");
        REQUIRE(launch_gemm_fill(data.data(), type, elements, kOperandSeed, nullptr) == 0);
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < elements; ++i)
          wrong += fake::load(data.data(), type, i) != gemm_element(type, i, kOperandSeed);
        CHECK(wrong == 0);
      });
    }
  }
}

TEST_CASE("a right product of every stored type passes, and each damage is counted") {
  struct Types {
    Number operand, stored;
  };
  for (const Types t : {Types{Number::fp64, Number::fp64}, Types{Number::fp32, Number::fp32},
                        Types{Number::fp16, Number::fp16}, Types{Number::bf16, Number::bf16},
                        Types{Number::int8, Number::int32}}) {
    CAPTURE(static_cast<int>(t.operand));
    ProductCheck c{t.operand, t.operand, t.stored, 13, 21, 16, kOperandSeed, 12, 1, 0};
    DeviceArray<unsigned char> d(bytes_of(t.stored, c.m * c.n), "d");
    DeviceArray<ProductResult> result(1, "result");
    multiply(c, d.data());
    const auto check = [&] {
      REQUIRE(launch_gemm_check(d.data(), c, result.data(), nullptr) == 0);
      return result[0];
    };
    in_every_order([&] {
      const ProductResult clean = check();
      CHECK(clean.checked == 13 * 21);
      CHECK(clean.wrong == 0);
      CHECK(clean.not_finite == 0);
      CHECK(clean.first == no_element);
    });
    const double first = fake::load(d.data(), t.stored, 100),
                 second = fake::load(d.data(), t.stored, 200);
    fake::store(d.data(), t.stored, 100, first + 64);
    if (t.stored != Number::int32) {  // all bits of the exponent set: no number
      const unsigned char nan[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
      const std::size_t width = bytes_of(t.stored, 1);
      std::memcpy(d.data() + 200 * width, nan + 8 - width, width);
    } else {
      fake::store(d.data(), t.stored, 200, second + 1);
    }
    in_every_order([&] {
      const ProductResult damaged = check();
      CHECK(damaged.wrong == 2);
      CHECK(damaged.not_finite == (t.stored == Number::int32 ? 0 : 1));
      CHECK(damaged.first == 100);
    });
    c.row_step = 5;
    c.row_offset = 3;  // rows 3 and 8 of 13
    CHECK(check().checked == 2 * 21);
  }
}

TEST_CASE("a product without columns, and rows that are not there") {
  DeviceArray<double> d(1, "d");
  DeviceArray<ProductResult> result(1, "result");
  ProductCheck c{Number::fp64, Number::fp64, Number::fp64, 4, 0, 4, 1, 2, 1, 0};
  REQUIRE(launch_gemm_check(d.data(), c, result.data(), nullptr) == 0);
  CHECK(result[0].checked == 0);
  c.row_step = 0;
  CHECK(launch_gemm_check(d.data(), c, result.data(), nullptr) == 1);  // cudaErrorInvalidValue
  c.row_step = 1;
  c.row_offset = 4;
  CHECK(launch_gemm_check(d.data(), c, result.data(), nullptr) == 1);
}
