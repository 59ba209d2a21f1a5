#include "bench/gpu/lu_plan.h"

#include <doctest/doctest.h>

namespace cb {

TEST_CASE("memory of LU on a GPU, and the largest order that fits") {
  // 320 rows of 301 columns; 64 rows to exchange; two inverses and lists; 34 vectors; picks.
  CHECK(gpu_lu_bytes(300, 64) == 8 * (320 * 301 + 64 * 301 + 2 * 64 * 68 + 34 * 300 + 2 * 256 + 1));
  CHECK(gpu_lu_distance(512) == 544);
  for (const int64_t free : {int64_t{80'000'000}, int64_t{4} << 30, int64_t{79} << 30}) {
    CAPTURE(free);
    const int64_t order = gpu_lu_order(free, 0);
    const auto room = static_cast<int64_t>(0.95 * static_cast<double>(free)) - (64 << 20);
    CHECK(order % 256 == 0);
    CHECK(gpu_lu_bytes(order, gpu_lu_block(order)) <= room);
    CHECK(gpu_lu_bytes(order + 256, gpu_lu_block(order + 256)) > room);
  }
  CHECK(gpu_lu_order(int64_t{79} << 30, 0) > 90'000);
  CHECK(gpu_lu_order(0, 0) == 256);
}

TEST_CASE("columns of a panel by the order") {
  CHECK(gpu_lu_block(3999) == 64);
  CHECK(gpu_lu_block(4000) == 128);
  CHECK(gpu_lu_block(16000) == 256);
  CHECK(gpu_lu_block(48000) == 512);
}

TEST_CASE("products without units for fp64 are refused, each other one is not") {
  const auto of = [](const char* name, double memory) {
    const GpuSku* sku = find_gpu_sku(name, memory);
    REQUIRE(sku != nullptr);
    return weak_fp64(sku, name, 90);
  };
  for (const char* name : {"NVIDIA H20", "NVIDIA H800", "NVIDIA B300 SXM6 AC", "NVIDIA L20",
                           "NVIDIA L40S", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090"}) {
    CAPTURE(name);
    CHECK_FALSE(of(name, 80e9).empty());
  }
  CHECK(of("NVIDIA H100 80GB HBM3", 85e9).empty());
  CHECK(of("NVIDIA H200", 150e9).empty());
  CHECK(of("NVIDIA A100-SXM4-80GB", 85e9).empty());
  CHECK(of("NVIDIA B200", 190e9).empty());
  for (const int capability : {61, 75, 86, 87, 89, 103, 110, 120, 121}) {
    CAPTURE(capability);
    CHECK_FALSE(weak_fp64(nullptr, "NVIDIA X1", capability).empty());
  }
  for (const int capability : {60, 70, 80, 90, 100}) {
    CAPTURE(capability);
    CHECK(weak_fp64(nullptr, "NVIDIA X1", capability).empty());
  }
  CHECK(find_gpu_sku("NVIDIA L4", 24e9) == nullptr);
}

}  // namespace cb
