#include "model/gpu_sku.h"
#include "model/pcie.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

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

// Machines are accepted by these figures: one that changes is changed here too, on purpose.
TEST_CASE("every figure of every product, entered twice") {
  // fp64, on vector units, fp32, tf32, half, fp8, int8, fp4 in TFLOP/s (0: absent); SMs, clock of
  // the stated peaks and of the exact types (0: not stated); memory; NVLink (0: none); PCIe; power.
  const std::vector<std::string> expected{
      "A100 SXM 80G: 19.5 9.7 19.5 156 312 0 624 0, 108 SMs 1410 0 MHz, 80 GB 2.039 TB/s, 300 "
      "GB/s, PCIe 4, 400 W",
      "A100 SXM 40G: 19.5 9.7 19.5 156 312 0 624 0, 108 SMs 1410 0 MHz, 40 GB 1.555 TB/s, 300 "
      "GB/s, PCIe 4, 400 W",
      "A100 PCIe 80G: 19.5 9.7 19.5 156 312 0 624 0, 108 SMs 1410 0 MHz, 80 GB 1.935 TB/s, 300 "
      "GB/s, PCIe 4, 300 W",
      "A100 PCIe 40G: 19.5 9.7 19.5 156 312 0 624 0, 108 SMs 1410 0 MHz, 40 GB 1.555 TB/s, 300 "
      "GB/s, PCIe 4, 250 W",
      "A800 SXM 80G: 19.5 9.7 19.5 156 312 0 624 0, 108 SMs 1410 0 MHz, 80 GB 2.039 TB/s, 200 "
      "GB/s, PCIe 4, 400 W",
      "H100 SXM: 67 34 67 494.5 989 1979 1979 0, 132 SMs 1830 1980 MHz, 80 GB 3.35 TB/s, 450 GB/s, "
      "PCIe 5, 700 W",
      "H100 PCIe: 51 26 51 378 756 1513 1513 0, 114 SMs 1620 1755 MHz, 80 GB 2 TB/s, 300 GB/s, "
      "PCIe 5, 350 W",
      "H100 NVL: 60 30 60 417.5 835.5 1671 1671 0, 132 SMs 0 0 MHz, 94 GB 3.9 TB/s, 300 GB/s, PCIe "
      "5, 400 W",
      "H800 SXM: 1 1 67 494.5 989 1979 1979 0, 132 SMs 1830 1980 MHz, 80 GB 3.35 TB/s, 200 GB/s, "
      "PCIe 5, 700 W",
      "H200 SXM: 67 34 67 494.5 989 1979 1979 0, 132 SMs 1830 1980 MHz, 141 GB 4.8 TB/s, 450 GB/s, "
      "PCIe 5, 700 W",
      "H20: 1 1 44 74 148 296 296 0, 78 SMs 0 0 MHz, 96 GB 4 TB/s, 450 GB/s, PCIe 5, 500 W",
      "H20-3e: 1 1 44 74 148 296 296 0, 78 SMs 0 0 MHz, 141 GB 4.8 TB/s, 450 GB/s, PCIe 5, 500 W",
      "L20: 0 0 59.8 59.8 119.5 239 239 0, 92 SMs 0 0 MHz, 48 GB 0.864 TB/s, 0 GB/s, PCIe 4, 275 W",
      "L40S: 0 0 91.6 183 362 733 733 0, 142 SMs 2490 2520 MHz, 48 GB 0.864 TB/s, 0 GB/s, PCIe 4, "
      "350 W",
      "B200: 37 37 75 1125 2250 4500 4500 9000, 148 SMs 0 0 MHz, 180 GB 8.184 TB/s, 900 GB/s, PCIe "
      "5, 1000 W",
      "B300: 1.25 1.25 75 1125 2250 4500 0 15000, 148 SMs 0 0 MHz, 288 GB 8 TB/s, 900 GB/s, PCIe "
      "6, 1100 W",
      "GB200: 40 40 80 1250 2500 5000 5000 10000, 152 SMs 0 0 MHz, 186 GB 8 TB/s, 900 GB/s, PCIe "
      "5, 1200 W",
      "GB300: 1.3 1.3 80 1250 2500 5000 0 15000, 152 SMs 0 0 MHz, 288 GB 8 TB/s, 900 GB/s, PCIe 6, "
      "1400 W",
      "RTX 4090: 1.29 1.29 82.6 82.6 165.2 330.3 660.6 0, 128 SMs 2520 0 MHz, 24 GB 1.008 TB/s, 0 "
      "GB/s, PCIe 4, 450 W",
      "RTX 5090: 1.64 1.64 104.8 104.8 209.5 419 838 1676, 170 SMs 2407 0 MHz, 32 GB 1.792 TB/s, 0 "
      "GB/s, PCIe 5, 575 W"};
  const auto tera = [](const GpuSku& s, const char* dtype) {
    return fmt::format("{:.6g}", peak_of(&s, dtype).value_or(0) / 1e12);
  };
  std::vector<std::string> found;
  for (const GpuSku& s : gpu_skus()) {
    std::string line = s.name + ":";
    for (const char* dtype :
         {"fp64", "fp64_vector", "fp32", "tf32", "fp16", "fp8_e5m2", "int8", "fp4"})
      line += " " + tera(s, dtype);
    found.push_back(line + fmt::format(", {} SMs {:g} {:g} MHz, {:g} GB {:g} TB/s, {:g} GB/s, PCIe "
                                       "{}, {:g} W",
                                       s.sms, s.peak_clock_hertz.value_or(0) / 1e6,
                                       s.exact_clock_hertz.value_or(0) / 1e6, s.memory_bytes / 1e9,
                                       s.memory_bytes_per_second / 1e12,
                                       s.nvlink_bytes_per_second.value_or(0) / 1e9,
                                       s.pcie_generation, s.tdp_watts));
    CHECK(tera(s, "fp16") == tera(s, "bf16"));
    CHECK(tera(s, "fp8_e5m2") == tera(s, "fp8_e4m3"));
  }
  CHECK(found == expected);
}

TEST_CASE("the memory tells products of one name apart, from both sides") {
  CHECK(known_as("NVIDIA A100-SXM4", 75) == "A100 SXM 80G");
  CHECK(known_as("NVIDIA A100-SXM4", 74.9) == "");
  CHECK(known_as("NVIDIA A100-SXM4", 50) == "");
  CHECK(known_as("NVIDIA A100-SXM4", 49.9) == "A100 SXM 40G");
  CHECK(known_as("NVIDIA H20", 120) == "H20");
  CHECK(known_as("NVIDIA H20", 120.1) == "H20-3e");
  CHECK(known_as("NVIDIA H20 3e", 102) == "H20-3e");
  CHECK(known_as("GeForce 4090", 25) == "");
}
