#include "bench/gpu/copy_ceiling.h"

#include <doctest/doctest.h>

#include "model/pcie.h"

using namespace cb;

namespace {

Part gpu_part(const char* topology, int generation, int lanes) {
  Part out{.kind = "gpu", .id = "0000:18:00.0"};
  out.attributes["topology"] = std::string(topology);
  out.attributes["pcie_max_generation"] = int64_t{generation};
  out.attributes["pcie_max_lanes"] = int64_t{lanes};
  return out;
}

}  // namespace

TEST_CASE("a GPU in half a slot is measured against the whole one") {
  const Part gpu = gpu_part("X NV18", 5, 16);
  const double whole = *pcie_bytes_per_second(5, 16);
  const auto half = host_copy_ceiling(&gpu, 5, 8, 1).value();
  CHECK(half.value == whole);
  CHECK(half.how.text().find("×16 as built") != std::string::npos);
  CHECK(half.how.text().find("ran at generation 5 ×8") != std::string::npos);
  const auto healthy = host_copy_ceiling(&gpu, 5, 16, 2).value();
  CHECK(healthy.value == 2 * whole);
  CHECK(healthy.how.text().find("ran at") == std::string::npos);
}

TEST_CASE("where nobody tells what was built, what was trained counts, and else nothing") {
  const Part silent{.kind = "gpu", .id = "0"};
  CHECK(host_copy_ceiling(&silent, 4, 16, 1).value().value == *pcie_bytes_per_second(4, 16));
  CHECK(host_copy_ceiling(nullptr, 4, 8, 1).value().value == *pcie_bytes_per_second(4, 8));
  CHECK_FALSE(host_copy_ceiling(nullptr, 4, std::nullopt, 1).has_value());
  CHECK_FALSE(host_copy_ceiling(&silent, std::nullopt, std::nullopt, 1).has_value());
}

TEST_CASE("NVLink bounds a pair only where there is one between them") {
  const GpuSku* card = find_gpu_sku("NVIDIA H100 PCIe", 85e9);
  REQUIRE(card != nullptr);
  // GPU 0 has a bridge to GPU 1 and a switch towards GPU 2.
  const Part gpu = gpu_part("X NV12 PIX", 5, 16);
  CHECK(peer_copy_ceiling(card, &gpu, 1, 1).value().value == 300e9);
  const auto without = peer_copy_ceiling(card, &gpu, 2, 2).value();
  CHECK(without.value == 2 * *pcie_bytes_per_second(5, 16));
  CHECK(without.how.text().find("no NVLink between them") != std::string::npos);
  // Nobody tells: the product's.
  CHECK(peer_copy_ceiling(card, nullptr, 1, 1).value().value == 300e9);
  CHECK_FALSE(peer_copy_ceiling(nullptr, &gpu, 1, 1).has_value());
}
