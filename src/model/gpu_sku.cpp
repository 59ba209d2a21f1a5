// One row per product. Since Ampere, NVIDIA's data sheets state tensor peaks with sparsity: the
// rows hold half of those. docs/methods/gpu.md says where a data sheet and the driver differ.
#include "model/gpu_sku.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr double kTera = 1e12;
constexpr double kMega = 1e6;

// fp64 is the tensor cores' peak if there is one, because cuBLAS uses them.
struct Peaks {
  double fp64, fp64_vector, fp32, tf32, half, fp8, int8, fp4;  // in tera per second; 0: absent
};

std::map<std::string, double> by_dtype(const Peaks& p) {
  std::map<std::string, double> out;
  const auto put = [&](const char* name, double tera) {
    if (tera > 0) out[name] = tera * kTera;
  };
  put("fp64", p.fp64);
  put("fp64_vector", p.fp64_vector);
  put("fp32", p.fp32);
  put("tf32", p.tf32);
  put("fp16", p.half);
  put("bf16", p.half);
  put("fp8_e4m3", p.fp8);
  put("fp8_e5m2", p.fp8);
  put("int8", p.int8);
  put("fp4", p.fp4);
  return out;
}

struct Row {
  const char* name;
  Peaks peaks;
  int sms;
  double clock_mhz, memory_gb, memory_tb_per_second, nvlink_gb_per_second;  // 0: not stated
  int pcie;
  double watts;
  const char* source;
};

constexpr const char* kAmpere =
    "NVIDIA A100 data sheet (2021-06) and Ampere architecture white paper";
constexpr const char* kHopper = "NVIDIA H100 data sheet (2023) and Hopper architecture white paper";
constexpr const char* kA800 =
    "no public data sheet: the A100's chip and memory with 8 of its 12 NVLinks";
constexpr const char* kH800 =
    "no public data sheet: the H100's chip and memory, fp64 cut, 8 NVLinks (DeepSeek-V3 issue 479)";
constexpr const char* kH20 =
    "no public data sheet: pages that quote it; 148 TFLOP/s and 4 TB/s in flash-attention issue "
    "1310";
constexpr const char* kL20 = "no public data sheet: pages that quote it";
constexpr const char* kBlackwell =
    "NVIDIA HGX B200/B300 and GB200/GB300 data sheets (2025), by stas00/ml-engineering (2026-08)";
// The sheet says 7.7 or 8.0 TB/s, which is no upper bound: 3996 MHz × 8192 bit × 2 is more.
constexpr const char* kB200 =
    "NVIDIA HGX B200 data sheet (2025); memory: 3996 MHz × 8192 bit × 2 (stas00/ml-engineering)";

//   name           fp64  vector fp32   tf32   half   fp8   int8  fp4    SMs  MHz   GB   TB/s NVLink
//   PCIe
//   W
constexpr std::array kRows{
    Row{"A100 SXM 80G",
        {19.5, 9.7, 19.5, 156, 312, 0, 624, 0},
        108,
        1410,
        80,
        2.039,
        300,
        4,
        400,
        kAmpere},
    Row{"A100 SXM 40G",
        {19.5, 9.7, 19.5, 156, 312, 0, 624, 0},
        108,
        1410,
        40,
        1.555,
        300,
        4,
        400,
        kAmpere},
    Row{"A100 PCIe 80G",
        {19.5, 9.7, 19.5, 156, 312, 0, 624, 0},
        108,
        1410,
        80,
        1.935,
        300,
        4,
        300,
        kAmpere},
    Row{"A100 PCIe 40G",
        {19.5, 9.7, 19.5, 156, 312, 0, 624, 0},
        108,
        1410,
        40,
        1.555,
        300,
        4,
        250,
        kAmpere},
    Row{"A800 SXM 80G",
        {19.5, 9.7, 19.5, 156, 312, 0, 624, 0},
        108,
        1410,
        80,
        2.039,
        200,
        4,
        400,
        kA800},
    Row{"H100 SXM",
        {67, 34, 67, 494.5, 989, 1979, 1979, 0},
        132,
        1830,
        80,
        3.35,
        450,
        5,
        700,
        kHopper},
    Row{"H100 PCIe",
        {51, 26, 51, 378, 756, 1513, 1513, 0},
        114,
        1620,
        80,
        2.0,
        300,
        5,
        350,
        kHopper},
    Row{"H100 NVL",
        {60, 30, 60, 417.5, 835.5, 1671, 1671, 0},
        132,
        0,
        94,
        3.9,
        300,
        5,
        400,
        kHopper},
    Row{"H800 SXM", {1, 1, 67, 494.5, 989, 1979, 1979, 0}, 132, 1830, 80, 3.35, 200, 5, 700, kH800},
    Row{"H200 SXM",
        {67, 34, 67, 494.5, 989, 1979, 1979, 0},
        132,
        1830,
        141,
        4.8,
        450,
        5,
        700,
        "NVIDIA H200 data sheet (2024)"},
    Row{"H20", {1, 1, 44, 74, 148, 296, 296, 0}, 78, 0, 96, 4.0, 450, 5, 500, kH20},
    Row{"H20-3e", {1, 1, 44, 74, 148, 296, 296, 0}, 78, 0, 141, 4.8, 450, 5, 500, kH20},
    Row{"L20", {0, 0, 59.8, 59.8, 119.5, 239, 239, 0}, 92, 0, 48, 0.864, 0, 4, 275, kL20},
    Row{"L40S",
        {0, 0, 91.6, 183, 362, 733, 733, 0},
        142,
        2490,
        48,
        0.864,
        0,
        4,
        350,
        "NVIDIA L40S data sheet (2023)"},
    Row{"B200",
        {37, 37, 75, 1125, 2250, 4500, 4500, 9000},
        148,
        0,
        180,
        8.184,
        900,
        5,
        1000,
        kB200},
    Row{"B300",
        {1.25, 1.25, 75, 1125, 2250, 4500, 0, 15000},
        148,
        0,
        288,
        8.0,
        900,
        6,
        1100,
        kBlackwell},
    Row{"GB200",
        {40, 40, 80, 1250, 2500, 5000, 5000, 10000},
        152,
        0,
        186,
        8.0,
        900,
        5,
        1200,
        kBlackwell},
    Row{"GB300",
        {1.3, 1.3, 80, 1250, 2500, 5000, 0, 15000},
        152,
        0,
        288,
        8.0,
        900,
        6,
        1400,
        kBlackwell},
    Row{"RTX 4090",
        {1.29, 1.29, 82.6, 82.6, 165.2, 330.3, 660.6, 0},
        128,
        2520,
        24,
        1.008,
        0,
        4,
        450,
        "NVIDIA Ada GPU architecture white paper (2022), sums in fp32"},
    Row{"RTX 5090",
        {1.64, 1.64, 104.8, 104.8, 209.5, 419, 838, 1676},
        170,
        2407,
        32,
        1.792,
        0,
        5,
        575,
        "NVIDIA RTX Blackwell GPU architecture white paper (2025), sums in fp32"},
};

// The clock of the stated fp32 and fp64 peaks, if it differs from the clock of the other types: 132
// SMs × 256 × 1.98 GHz are the 67 TFLOP/s of the H100, 114 × 256 × 1.755 GHz the 51 of its PCIe
// card, 142 × 256 × 2.52 GHz the 91.6 of the L40S.
double exact_clock_mhz(std::string_view name) {
  if (name == "H100 SXM" || name == "H200 SXM" || name == "H800 SXM") return 1980;
  if (name == "H100 PCIe") return 1755;
  return name == "L40S" ? 2520 : 0;
}

bool is_exact(const std::string& dtype) { return dtype.starts_with("fp64") || dtype == "fp32"; }

GpuSku sku_of(const Row& row) {
  GpuSku out{.name = row.name, .peaks = by_dtype(row.peaks), .sms = row.sms};
  if (row.clock_mhz > 0) out.peak_clock_hertz = row.clock_mhz * kMega;
  if (exact_clock_mhz(row.name) > 0) out.exact_clock_hertz = exact_clock_mhz(row.name) * kMega;
  out.memory_bytes = row.memory_gb * 1e9;
  out.memory_bytes_per_second = row.memory_tb_per_second * 1e12;
  if (row.nvlink_gb_per_second > 0) out.nvlink_bytes_per_second = row.nvlink_gb_per_second * 1e9;
  out.pcie_generation = row.pcie;
  out.tdp_watts = row.watts;
  out.source = row.source;
  return out;
}

// Splits the driver's name into words: "NVIDIA A100-SXM4-80GB" → NVIDIA, A100, SXM4, 80GB.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    if (c == ' ' || c == '-')
      out.emplace_back();
    else
      out.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::erase(out, "");
  return out;
}

struct DriverName {
  std::vector<std::string> words;
  double memory_bytes;

  bool has(std::string_view word) const {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
};

// Parts with 64 GB were made for one customer: they are neither of the two products.
std::string ampere(const DriverName& n, const char* model) {
  const bool large = n.memory_bytes >= 75e9;
  if (!large && n.memory_bytes >= 50e9) return "";
  return fmt::format("{} {} {}", model, n.has("PCIE") ? "PCIe" : "SXM", large ? "80G" : "40G");
}

std::string hopper(const DriverName& n, const char* model) {
  if (n.has("PCIE")) return std::string(model) + " PCIe";
  if (n.has("NVL")) return std::string(model) + " NVL";
  return std::string(model) + " SXM";
}

// Returns the table's name for the driver's name; "" for a product that merely resembles one.
std::string sku_name(const DriverName& n) {
  if (n.has("MIG")) return "";  // a slice of a GPU has none of its peaks
  if (n.has("A100")) return ampere(n, "A100");
  if (n.has("A800")) return ampere(n, "A800");
  if (n.has("H100")) return hopper(n, "H100");
  if (n.has("H800")) return hopper(n, "H800");
  if (n.has("H200")) return hopper(n, "H200");
  if (n.has("H20")) return n.has("3E") || n.memory_bytes > 120e9 ? "H20-3e" : "H20";
  for (const char* plain : {"L20", "L40S", "GB200", "GB300", "B200", "B300"}) {
    if (n.has(plain)) return plain;
  }
  if (n.has("RTX") && n.words.back() == "4090") return "RTX 4090";
  if (n.has("RTX") && n.words.back() == "5090") return "RTX 5090";
  return "";
}

}  // namespace

const std::vector<GpuSku>& gpu_skus() {
  static const std::vector<GpuSku> skus = [] {
    std::vector<GpuSku> out;
    for (const Row& row : kRows) out.push_back(sku_of(row));
    return out;
  }();
  return skus;
}

const GpuSku* find_gpu_sku(std::string_view name, double memory_bytes) {
  const DriverName driver{words_of(name), memory_bytes};
  const std::string wanted = driver.words.empty() ? "" : sku_name(driver);
  const auto& skus = gpu_skus();
  const auto found =
      std::find_if(skus.begin(), skus.end(), [&](const GpuSku& s) { return s.name == wanted; });
  return found == skus.end() ? nullptr : &*found;
}

std::optional<double> peak_of(const GpuSku* sku, const std::string& dtype) {
  if (sku == nullptr) return std::nullopt;
  const auto found = sku->peaks.find(dtype);
  return found == sku->peaks.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> peak_at_clock(const GpuSku* sku, const std::string& dtype,
                                    double clock_hertz) {
  const auto peak = peak_of(sku, dtype);
  if (!peak || !sku->peak_clock_hertz) return std::nullopt;
  const bool other = is_exact(dtype) && sku->exact_clock_hertz;
  return *peak * clock_hertz / (other ? *sku->exact_clock_hertz : *sku->peak_clock_hertz);
}

}  // namespace cb
