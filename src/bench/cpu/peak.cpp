#include "bench/cpu/peak.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "bench/cpu/fma_loops.h"
#include "core/clock.h"
#include "core/stats.h"

namespace cb {
namespace {

// Figures are units × lanes × 2. Sources: AMD, "Software Optimization Guide for the AMD …" of each
// family; Intel, "Intel 64 and IA-32 Architectures Optimization Reference Manual", port diagrams;
// Arm, "Neoverse … Software Optimization Guide", pipelines.
constexpr std::string_view kIntel = "Intel Optimization Reference Manual 248966";
constexpr PeakRow kPeakRows[] = {
    {"GenuineIntel", 6, 0x3c, 0x3c, "Haswell", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x3f, 0x3f, "Haswell-EP", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x45, 0x46, "Haswell", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x3d, 0x3d, "Broadwell", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x47, 0x47, "Broadwell", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x4f, 0x4f, "Broadwell-EP", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x56, 0x56, "Broadwell-DE", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x4e, 0x4e, "Skylake", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x5e, 0x5e, "Skylake", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x8e, 0x8e, "Kaby Lake", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x9e, 0x9e, "Kaby Lake", 0, 16, false, kIntel},
    {"GenuineIntel", 6, 0x55, 0x55, "Skylake-SP to Cooper Lake", 32, 16, true, kIntel},
    {"GenuineIntel", 6, 0x6a, 0x6a, "Ice Lake-SP", 32, 16, false, kIntel},
    {"GenuineIntel", 6, 0x6c, 0x6c, "Ice Lake-D", 32, 16, false, kIntel},
    {"GenuineIntel", 6, 0x7d, 0x7e, "Ice Lake", 16, 16, false, kIntel},
    {"GenuineIntel", 6, 0x8c, 0x8d, "Tiger Lake", 16, 16, false, kIntel},
    {"GenuineIntel", 6, 0x8f, 0x8f, "Sapphire Rapids", 32, 16, false, kIntel},
    {"GenuineIntel", 6, 0xcf, 0xcf, "Emerald Rapids", 32, 16, false, kIntel},
    {"GenuineIntel", 6, 0xad, 0xae, "Granite Rapids", 32, 16, false, kIntel},
    {"AuthenticAMD", 0x17, 0x00, 0x2f, "Zen, Zen+ (256 bits in two passes)", 0, 8, false,
     "AMD Software Optimization Guide 55723"},
    {"AuthenticAMD", 0x17, 0x30, 0xaf, "Zen 2", 0, 16, false,
     "AMD Software Optimization Guide 56305"},
    {"AuthenticAMD", 0x19, 0x00, 0x0f, "Zen 3", 0, 16, false,
     "AMD Software Optimization Guide 56665"},
    {"AuthenticAMD", 0x19, 0x20, 0x5f, "Zen 3", 0, 16, false,
     "AMD Software Optimization Guide 56665"},
    {"AuthenticAMD", 0x19, 0x10, 0x1f, "Zen 4 (512 bits in two passes)", 16, 16, false,
     "AMD Software Optimization Guide 57647"},
    {"AuthenticAMD", 0x19, 0x60, 0x7f, "Zen 4 (512 bits in two passes)", 16, 16, false,
     "AMD Software Optimization Guide 57647"},
    {"AuthenticAMD", 0x19, 0xa0, 0xaf, "Zen 4c (512 bits in two passes)", 16, 16, false,
     "AMD Software Optimization Guide 57647"},
    {"AuthenticAMD", 0x1a, 0x00, 0x1f, "Zen 5 (EPYC)", 32, 16, false,
     "AMD Software Optimization Guide 58455"},
    {"AuthenticAMD", 0x1a, 0x40, 0x4f, "Zen 5 (desktop)", 32, 16, false,
     "AMD Software Optimization Guide 58455"},
    {"arm", 0, 0xd0c, 0xd0c, "Neoverse N1", 0, 8, false, "Arm PJDOC-466751330-9707"},
    {"arm", 0, 0xd40, 0xd40, "Neoverse V1", 0, 16, false, "Arm PJDOC-466751330-9685"},
    {"arm", 0, 0xd49, 0xd49, "Neoverse N2", 0, 8, false, "Arm PJDOC-466751330-18256"},
    {"arm", 0, 0xd4f, 0xd4f, "Neoverse V2", 0, 16, false, "Arm PJDOC-466751330-593177"},
};

// The value of the first line "key : value" in the text of /proc/cpuinfo.
std::string_view field(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const size_t colon = line.find(':');
    at = end + 1;
    if (colon == std::string_view::npos || !line.starts_with(key)) continue;
    const std::string_view rest = line.substr(key.size(), colon - key.size());
    if (rest.find_first_not_of(" \t") != std::string_view::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string_view::npos ? "" : line.substr(begin);
  }
  return {};
}

std::optional<int> number(std::string_view text) {
  int base = 10, value = 0;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

bool has_flag(std::string_view flags, std::string_view flag) {
  const std::string padded = fmt::format(" {} ", flags);
  return padded.find(fmt::format(" {} ", flag)) != std::string::npos;
}

// Operations per second of all threads while they run the loop at the same time. It sums each
// thread's fastest burst, so that an interrupted thread does not lower what the cores can do.
double burst_rate(const FmaLoop& loop, Team& team, int bursts) {
  constexpr uint64_t kIterations = 100000;  // 0.3 to 0.6 ms
  std::vector<double> rates(static_cast<size_t>(team.size()));
  team.run([&](int index) {
    for (int i = 0; i < bursts; ++i) {
      const double start = monotonic_seconds();
      loop.run(kIterations);
      const double seconds = monotonic_seconds() - start;
      double& best = rates[static_cast<size_t>(index)];
      best = std::max(best, loop.operations * static_cast<double>(kIterations) / seconds);
    }
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

std::optional<CpuId> parse_cpu_id(std::string_view text) {
  CpuId out;
  if (const auto part = number(field(text, "CPU part"))) {
    if (field(text, "CPU implementer") != "0x41") return std::nullopt;
    out.vendor = "arm";
    out.model = *part;
    return out;
  }
  const auto family = number(field(text, "cpu family")), model = number(field(text, "model"));
  if (!family || !model) return std::nullopt;
  const std::string_view flags = field(text, "flags");
  return CpuId{std::string(field(text, "vendor_id")), *family, *model, has_flag(flags, "avx512f"),
               has_flag(flags, "avx2") && has_flag(flags, "fma")};
}

std::optional<CpuId> read_cpu_id(const FsRoot& fs) {
  const auto text = fs.text("/proc/cpuinfo");
  return text ? parse_cpu_id(*text) : std::nullopt;
}

const PeakRow* peak_row(const CpuId& cpu) {
  for (const PeakRow& row : kPeakRows) {
    if (row.vendor == cpu.vendor && row.family == cpu.family && row.first_model <= cpu.model &&
        cpu.model <= row.last_model)
      return &row;
  }
  return nullptr;
}

std::optional<FlopsPerCycle> flops_per_cycle(const CpuId& cpu, GemmType type,
                                             double measured_per_cycle) {
  const PeakRow* row = peak_row(cpu);
  if (row == nullptr || type == GemmType::bf16 || type == GemmType::int8) return std::nullopt;
  const bool wide = cpu.avx512 && row->wide > 0;
  // A hypervisor may hide the instruction sets that the row's figures need.
  if (!wide && row->vendor != "arm" && !cpu.avx2_fma) return std::nullopt;
  const double scale = type == GemmType::fp32 ? 2 : 1;
  double value = scale * (wide ? row->wide : row->narrow);
  const char* id = "gemm.per_cycle";
  if (wide && row->one_or_two_units) {
    const bool two = measured_per_cycle > 0.75 * value;
    if (!two) value /= 2;
    id = two ? "gemm.per_cycle_two" : "gemm.per_cycle_one";
  }
  const int bits = wide ? 512 : row->vendor == "arm" ? 128 : 256;
  return FlopsPerCycle{value, said(id, fmt::format("{}", value), row->name, cpu.family, cpu.model,
                                   bits, row->source)};
}

std::optional<MeasuredPeak> measure_peak(GemmType type, Team& team, int bursts) {
  if (beyond_fma_loops(type)) return std::nullopt;
  std::optional<MeasuredPeak> best;
  for (const FmaLoop& loop : fma_loops()) {
    if (loop.type != type || !loop.supported()) continue;
    const double rate = burst_rate(loop, team, bursts);
    if (!best || rate > best->operations_per_second) best = MeasuredPeak{rate, loop.isa};
  }
  return best;
}

double measure_clock_hertz(Team& team) {
  constexpr uint64_t kSteps = 1 << 16;  // about 20 µs
  constexpr int kBursts = 12;
  std::vector<double> hertz(static_cast<size_t>(team.size()));
  team.run([&](int index) {
    double shortest = 1e9;
    for (int i = 0; i < kBursts; ++i) {
      const double start = monotonic_seconds();
      dependent_additions(kSteps);
      shortest = std::min(shortest, monotonic_seconds() - start);
    }
    hertz[static_cast<size_t>(index)] = static_cast<double>(kSteps) / shortest;
  });
  return median(hertz);
}

}  // namespace cb
