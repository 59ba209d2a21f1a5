#include "bench/cpu/host_gemm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include <sys/resource.h>

#include "bench/cpu/builtin_gemm.h"
#include "bench/cpu/freivalds.h"

using namespace cb;

namespace {

constexpr GemmType kTypes[] = {GemmType::fp64, GemmType::fp32, GemmType::bf16, GemmType::int8};
const GemmShape kOdd{37, 45, 301};  // no multiple of any tile

double element(GemmType type, const void* p, int64_t i) {
  switch (type) {
    case GemmType::fp64:
      return static_cast<const double*>(p)[i];
    case GemmType::fp32:
      return static_cast<double>(static_cast<const float*>(p)[i]);
    case GemmType::bf16:
      return static_cast<double>(from_bf16(static_cast<const uint16_t*>(p)[i]));
    case GemmType::int8:
      return static_cast<const int8_t*>(p)[i];
  }
  return 0;
}

double sum(const GemmData& d, int64_t i) {
  if (d.type() == GemmType::int8) return static_cast<const int32_t*>(d.c())[i];
  if (d.type() == GemmType::fp64) return static_cast<const double*>(d.c())[i];
  return static_cast<double>(static_cast<const float*>(d.c())[i]);
}

void set_sum(const GemmData& d, int64_t i, double value) {
  if (d.type() == GemmType::int8) {
    static_cast<int32_t*>(d.c())[i] = static_cast<int32_t>(value);
  } else if (d.type() == GemmType::fp64) {
    static_cast<double*>(d.c())[i] = value;
  } else {
    static_cast<float*>(d.c())[i] = static_cast<float>(value);
  }
}

}  // namespace

TEST_CASE("a product counts 2·M·N·K operations") {
  CHECK(gemm_operations({1, 1, 1}) == 2);
  CHECK(gemm_operations({2, 3, 5}) == 60);
  CHECK(gemm_operations({4096, 4096, 4096}) == 137438953472.0);
}

TEST_CASE("a product needs M·K + K·N elements and M·N sums") {
  CHECK(gemm_bytes(GemmType::fp64, {2, 3, 5}) == 8 * (10 + 15 + 6));
  CHECK(gemm_bytes(GemmType::fp32, {2, 3, 5}) == 4 * (10 + 15 + 6));
  CHECK(gemm_bytes(GemmType::bf16, {2, 3, 5}) == 2 * (10 + 15) + 4 * 6);
  CHECK(gemm_bytes(GemmType::int8, {2, 3, 5}) == (10 + 15) + 4 * 6);
}

TEST_CASE("bf16 rounds to the nearest, ties to even") {
  CHECK(to_bf16(1.0f) == 0x3f80);
  CHECK(to_bf16(1.00390625f) == 0x3f80);  // 1 + 2^-8, half way: even
  CHECK(to_bf16(1.01171875f) == 0x3f82);  // 1 + 3·2^-8, half way: even
  CHECK(to_bf16(1.0039064f) == 0x3f81);   // just above half way
  CHECK(from_bf16(0xbf80) == -1.0f);
}

TEST_CASE("data depend on the seed and not on the number of threads") {
  Team one({allowed_cpus()[0]});
  Team three({allowed_cpus()[0], allowed_cpus()[0], allowed_cpus()[0]});
  for (const GemmType type : kTypes) {
    const GemmData x(type, kOdd, 7, one), y(type, kOdd, 7, three), z(type, kOdd, 8, one);
    const size_t bytes = static_cast<size_t>(kOdd.m * kOdd.k) * element_bytes(type);
    CHECK(std::memcmp(x.a(), y.a(), bytes) == 0);
    CHECK(std::memcmp(x.a(), z.a(), bytes) != 0);
  }
}

// The largest difference between C and the definition of A·B.
double worst_of_product(const GemmData& d) {
  const GemmShape s = d.shape();
  double worst = 0;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double want = 0;
      for (int64_t k = 0; k < s.k; ++k)
        want += element(d.type(), d.a(), i * s.k + k) * element(d.type(), d.b(), k * s.n + j);
      const double found = sum(d, i * s.n + j);
      worst = std::isfinite(found) ? std::max(worst, std::abs(found - want)) : INFINITY;
    }
  }
  return worst;
}

TEST_CASE("the built-in product agrees with the definition for every type and instruction set") {
  Team team({allowed_cpus()[0], allowed_cpus()[0]});
  // On both sides of each width of a panel, of the depth of a block and of a band of rows.
  for (const GemmShape shape :
       {kOdd, GemmShape{1, 1, 1}, GemmShape{9, 6, 255}, GemmShape{8, 12, 256},
        GemmShape{7, 25, 257}, GemmShape{3, 48, 5}, GemmShape{5, 97, 513}}) {
    for (const GemmType type : kTypes) {
      for (const std::string& isa : builtin_gemm_isas()) {
        CAPTURE(gemm_type_name(type));
        CAPTURE(isa);
        CAPTURE(shape.n);
        GemmData d(type, shape, 3, team);
        builtin_gemm(d, team, isa);
        const double unit = type == GemmType::fp64 ? 0x1p-53 : 0x1p-24;
        CHECK(worst_of_product(d) <=
              (type == GemmType::int8 ? 0 : static_cast<double>(shape.k) * unit * 100));
      }
    }
  }
}

#ifndef CB_SANITIZED  // a sanitizer's heap keeps what was freed, and takes new pages instead
// Pages that the kernel gave this process and filled with zeros.
int64_t pages_given() {
  rusage use{};
  REQUIRE(::getrusage(RUSAGE_SELF, &use) == 0);
  return use.ru_minflt;
}

TEST_CASE("small products do not ask the kernel for pages again and again") {
  Team team({allowed_cpus()[0]});
  GemmData d(GemmType::fp32, {64, 64, 64}, 3, team);
  const std::string isa = builtin_gemm_isas().front();
  for (int i = 0; i < 10; ++i) builtin_gemm(d, team, isa);
  const int64_t before = pages_given();
  for (int i = 0; i < 100; ++i) builtin_gemm(d, team, isa);
  CHECK(pages_given() - before < 100);
}
#endif

TEST_CASE("a planted fault is beyond any rounding, whatever the element was") {
  Team team({allowed_cpus()[0]});
  for (const GemmType type : kTypes) {
    CAPTURE(gemm_type_name(type));
    for (const double element : {0.0, 0.5, -1.0, 1.999, 2.0, -2.0, 3.0, 1e3, -1e30}) {
      if (type == GemmType::int8 && std::abs(element) > 1e6) continue;
      GemmData d(type, {1, 1, 1}, 5, team);
      set_sum(d, 0, element);
      const double right = sum(d, 0);
      d.spoil();
      const double off = std::abs(sum(d, 0) - right);
      CHECK((std::isnan(off) || off >= (type == GemmType::int8 ? 0x1p30 : 0x1p125)));
    }
  }
}

TEST_CASE("Freivalds passes a right product and catches one wrong element of every type") {
  Team team({allowed_cpus()[0]});
  for (const GemmType type : kTypes) {
    CAPTURE(gemm_type_name(type));
    GemmData d(type, kOdd, 5, team);
    builtin_gemm(d, team, builtin_gemm_isas().front());
    CHECK(check_product(d, 1, 2, team).passed);
    for (const int64_t at : {int64_t{0}, int64_t{500}, kOdd.m * kOdd.n - 1}) {
      const double right = sum(d, at);
      set_sum(d, at, type == GemmType::int8 ? right + 1 : right * 1.01 + 0.01);
      const ProductCheck found = check_product(d, 1, 2, team);
      CHECK_FALSE(found.passed);
      CHECK(found.detail.text().find("row " + std::to_string(at / kOdd.n)) != std::string::npos);
      set_sum(d, at, right);
    }
    CHECK(check_product(d, 1, 2, team).passed);
  }
}

// B·x is rounded once for all rows, and counts most where x lies along B: of a hundred seeds some
// do. A million rows have one in which the other roundings add up to that.
TEST_CASE("a right product of many shallow rows passes, whatever x is") {
  Team team({allowed_cpus()[0]});
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    GemmData d(GemmType::fp64, {20000, 12, 1}, seed, team);
    builtin_gemm(d, team, builtin_gemm_isas().front());
    for (uint64_t x = 0; x < 5; ++x) {
      const ProductCheck found = check_product(d, seed * 100 + x, 4, team);
      CHECK(found.value <= 0.8 * found.limit);
    }
  }
}

TEST_CASE("a right product that is wide and shallow, or deep, passes") {
  Team team({allowed_cpus()[0]});
  for (const GemmShape shape : {GemmShape{1, 300000, 1}, GemmShape{3, 100000, 5},
                                GemmShape{64, 32768, 64}, GemmShape{3, 5, 100000}}) {
    for (const GemmType type : kTypes) {
      CAPTURE(gemm_type_name(type));
      CAPTURE(shape.n);
      GemmData d(type, shape, 3, team);
      builtin_gemm(d, team, builtin_gemm_isas().front());
      const ProductCheck found = check_product(d, 1, 2, team);
      CHECK(found.passed);
      CHECK(found.value <= found.limit / 2);  // far from the limit, and not by luck
      if (type == GemmType::int8) continue;
      set_sum(d, 1, sum(d, 1) + 8 * found.limit);
      CHECK_FALSE(check_product(d, 1, 2, team).passed);
    }
  }
}

TEST_CASE("an element that was never written, or is not a number, never passes") {
  Team team({allowed_cpus()[0]});
  for (const GemmType type : kTypes) {
    CAPTURE(gemm_type_name(type));
    GemmData d(type, {8, 8, 8}, 5, team);
    CHECK_FALSE(check_product(d, 1, 2, team).passed);  // poisoned
    builtin_gemm(d, team, builtin_gemm_isas().front());
    CHECK(check_product(d, 1, 2, team).passed);
    if (type == GemmType::int8) continue;
    set_sum(d, 63, std::nan(""));
    const ProductCheck nan = check_product(d, 1, 2, team);
    CHECK_FALSE(nan.passed);
    CHECK(std::isinf(nan.value));
    set_sum(d, 63, INFINITY);
    CHECK_FALSE(check_product(d, 1, 2, team).passed);
  }
}

TEST_CASE("the limit is 8·u·‖a‖·‖B‖, and both its sides are told apart") {
  CHECK(freivalds_limit(GemmType::fp64, 2, 3) == 48 * 0x1p-53);
  CHECK(freivalds_limit(GemmType::fp32, 2, 3) == 48 * 0x1p-24);
  CHECK(freivalds_limit(GemmType::bf16, 2, 3) == 48 * 0x1p-24);
  // 1×1×1: C·x differs from A·(B·x) by e·|x| with |x| in [1/2, 1], and the check's own rounding
  // adds half of |x| limits. An error of half the limit passes whatever x, and one of three fails.
  Team team({allowed_cpus()[0]});
  GemmData d(GemmType::fp64, {1, 1, 1}, 9, team);
  builtin_gemm(d, team, builtin_gemm_isas().front());
  const double right = sum(d, 0);
  const double limit = freivalds_limit(GemmType::fp64, std::abs(element(GemmType::fp64, d.a(), 0)),
                                       std::abs(element(GemmType::fp64, d.b(), 0)));
  set_sum(d, 0, right + 0.5 * limit);
  CHECK(check_product(d, 1, 4, team).passed);
  set_sum(d, 0, right + 3 * limit);
  CHECK_FALSE(check_product(d, 1, 4, team).passed);
}

TEST_CASE("a library that is not there is absent with the reason") {
  ::setenv("CLUSTERBENCH_BLIS", "/nowhere/libblis.so", 1);
  Team team({allowed_cpus()[0]});
  const auto opened = open_host_gemm("blis", "", GemmType::fp64, team);
  ::unsetenv("CLUSTERBENCH_BLIS");
  REQUIRE(std::holds_alternative<host_blas::Absent>(opened));
  const std::string& reason = std::get<host_blas::Absent>(opened).reason.text();
  CHECK(reason.find("/nowhere/libblis.so") != std::string::npos);
  CHECK(reason.find("CLUSTERBENCH_BLIS is set") != std::string::npos);
}
