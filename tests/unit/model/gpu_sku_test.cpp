#include "model/gpu_sku.h"
#include "model/pcie.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

std::string known_as(const char* name, double gigabytes) {
  const GpuSku* sku = find_gpu_sku(name, gigabytes * 1e9);
  return sku == nullptr ? "" : sku->name;
}

}  // namespace

TEST_CASE("names as drivers report them lead to the product") {
  CHECK(known_as("NVIDIA A100-SXM4-80GB", 85.9) == "A100 SXM 80G");
  CHECK(known_as("NVIDIA A100-SXM4-40GB", 42.9) == "A100 SXM 40G");
  CHECK(known_as("NVIDIA A100 80GB PCIe", 85.9) == "A100 PCIe 80G");
  CHECK(known_as("NVIDIA A800-SXM4-80GB", 85.9) == "A800 SXM 80G");
  CHECK(known_as("NVIDIA H100 80GB HBM3", 85.5) == "H100 SXM");
  CHECK(known_as("NVIDIA H100 PCIe", 85.5) == "H100 PCIe");
  CHECK(known_as("NVIDIA H100 NVL", 100) == "H100 NVL");
  CHECK(known_as("NVIDIA H800", 85.5) == "H800 SXM");
  CHECK(known_as("NVIDIA H200", 150) == "H200 SXM");
  CHECK(known_as("NVIDIA H20", 102) == "H20");
  CHECK(known_as("NVIDIA H20-3e", 150) == "H20-3e");
  CHECK(known_as("NVIDIA L20", 48) == "L20");
  CHECK(known_as("NVIDIA L40S", 48) == "L40S");
  CHECK(known_as("NVIDIA B200", 191) == "B200");
  CHECK(known_as("NVIDIA B300 SXM6 AC", 288) == "B300");
  CHECK(known_as("NVIDIA GB200", 198) == "GB200");
  CHECK(known_as("NVIDIA GeForce RTX 4090", 25) == "RTX 4090");
  CHECK(known_as("NVIDIA GeForce RTX 5090", 34) == "RTX 5090");
}

TEST_CASE("what the table does not know has no peak") {
  CHECK(known_as("NVIDIA L4", 24) == "");
  CHECK(known_as("NVIDIA GeForce RTX 4090 D", 25) == "");
  CHECK(known_as("NVIDIA H200 NVL", 150) == "");
  CHECK(known_as("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 10) == "");
  CHECK(known_as("", 80) == "");
  // Made for one customer: neither the 40 nor the 80 GB product.
  CHECK(known_as("NVIDIA A100-SXM-64GB", 68.7) == "");
  CHECK_FALSE(peak_of(nullptr, "bf16"));
  CHECK_FALSE(peak_at_clock(nullptr, "bf16", 1e9));
}

TEST_CASE("peaks are dense, and absent where the product lacks the type") {
  const GpuSku* h200 = find_gpu_sku("NVIDIA H200", 150e9);
  REQUIRE(h200 != nullptr);
  CHECK(peak_of(h200, "bf16") == 989e12);
  CHECK(peak_of(h200, "fp8_e4m3") == 1979e12);
  CHECK_FALSE(peak_of(h200, "fp4"));
  CHECK(h200->memory_bytes_per_second == doctest::Approx(4.8e12));
  const GpuSku* a100 = find_gpu_sku("NVIDIA A100-SXM4-80GB", 85e9);
  CHECK_FALSE(peak_of(a100, "fp8_e4m3"));
  // 108 SMs × 2,048 FLOP per clock × 1.41 GHz, the white paper's own arithmetic.
  CHECK(*peak_of(a100, "bf16") == doctest::Approx(108 * 2048 * 1.41e9).epsilon(0.001));
  const GpuSku* h100 = find_gpu_sku("NVIDIA H100 80GB HBM3", 85e9);
  CHECK(*peak_of(h100, "bf16") == doctest::Approx(132 * 4096 * 1.83e9).epsilon(0.001));
}

TEST_CASE("fp64 of the export products is cut to 1 TFLOP/s") {
  CHECK(peak_of(find_gpu_sku("NVIDIA H800", 85e9), "fp64") == 1e12);
  CHECK(peak_of(find_gpu_sku("NVIDIA H20", 102e9), "fp64") == 1e12);
  CHECK(find_gpu_sku("NVIDIA A800-SXM4-80GB", 85e9)->nvlink_bytes_per_second == 200e9);
}

TEST_CASE("the peak follows the clock where the clock of the stated peak is published") {
  const GpuSku* h100 = find_gpu_sku("NVIDIA H100 80GB HBM3", 85e9);
  CHECK(*peak_at_clock(h100, "bf16", 1.83e9) == doctest::Approx(989e12));
  CHECK(*peak_at_clock(h100, "bf16", 0.915e9) == doctest::Approx(494.5e12));
  CHECK_FALSE(peak_at_clock(find_gpu_sku("NVIDIA H20", 102e9), "bf16", 1.98e9));
}

TEST_CASE("fp32 and fp64 of Hopper are counted at another clock than the other types") {
  const GpuSku* h100 = find_gpu_sku("NVIDIA H100 80GB HBM3", 85e9);
  for (const char* dtype : {"fp64", "fp32"}) CHECK(*peak_at_clock(h100, dtype, 1.98e9) == 67e12);
  CHECK(*peak_at_clock(h100, "fp64_vector", 1.98e9) == 34e12);
  CHECK(*peak_of(h100, "fp32") == doctest::Approx(132 * 256 * 1.98e9).epsilon(0.002));
  const GpuSku* card = find_gpu_sku("NVIDIA H100 PCIe", 85e9);
  CHECK(*peak_at_clock(card, "fp32", 1.755e9) == 51e12);
  CHECK(*peak_of(card, "fp32") == doctest::Approx(114 * 256 * 1.755e9).epsilon(0.005));
  const GpuSku* l40s = find_gpu_sku("NVIDIA L40S", 48e9);
  CHECK(*peak_at_clock(l40s, "fp32", 2.52e9) == doctest::Approx(91.6e12));
  CHECK(*peak_at_clock(l40s, "bf16", 2.49e9) == doctest::Approx(362e12));
  // One clock for all types of Ampere.
  const GpuSku* a100 = find_gpu_sku("NVIDIA A100-SXM4-80GB", 85e9);
  CHECK(*peak_at_clock(a100, "fp64", 1.41e9) == 19.5e12);
}

TEST_CASE("what is no upper bound is no ceiling") {
  // 3996 MHz × 8192 bit × 2; the sheet's 7.7 lies below it.
  CHECK(find_gpu_sku("NVIDIA B200", 191e9)->memory_bytes_per_second ==
        doctest::Approx(3996e6 * 8192 / 8 * 2).epsilon(1e-3));
  CHECK(peak_of(find_gpu_sku("NVIDIA B300 SXM6 AC", 288e9), "fp4") == 15e15);
  CHECK(find_gpu_sku("NVIDIA H20", 102e9)->tdp_watts == 500);
}

TEST_CASE("every row is complete and names its source") {
  for (const GpuSku& sku : gpu_skus()) {
    CAPTURE(sku.name);
    CHECK(sku.peaks.contains("bf16"));
    CHECK(sku.memory_bytes >= 24e9);
    CHECK(sku.memory_bytes_per_second >= 0.8e12);
    CHECK(sku.memory_bytes_per_second <= 8.2e12);
    CHECK(sku.tdp_watts >= 250);
    CHECK(sku.pcie_generation >= 4);
    CHECK_FALSE(sku.source.empty());
    CHECK(peak_of(&sku, "bf16") == peak_of(&sku, "fp16"));
  }
}

TEST_CASE("fp64 on the tensor cores and without them are two peaks") {
  const GpuSku* h100 = find_gpu_sku("NVIDIA H100 80GB HBM3", 85.5e9);
  CHECK(peak_of(h100, "fp64") == 67e12);
  CHECK(peak_of(h100, "fp64_vector") == 34e12);
  // No tensor cores for fp64, and no published figure.
  CHECK_FALSE(peak_of(find_gpu_sku("NVIDIA L40S", 48e9), "fp64_vector"));
  // Cut down for export: both alike.
  const GpuSku* h20 = find_gpu_sku("NVIDIA H20", 102e9);
  CHECK(peak_of(h20, "fp64_vector") == peak_of(h20, "fp64"));
}
