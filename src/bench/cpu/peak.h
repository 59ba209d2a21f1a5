#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bench/cpu/host_gemm.h"
#include "core/messages/said.h"
#include "sys/os/fs_root.h"

// The best rate that the cores could reach: measured by loops in registers, and computed from the
// processor's design and the clock measured in the run.
namespace cb {

// The processor as /proc/cpuinfo describes it; on x86 this is CPUID leaf 1 and the feature leaves.
struct CpuId {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"; "arm" for implementer 0x41
  int family = 0;      // 0 for Arm
  int model = 0;       // the part number for Arm
  bool avx512 = false;
  bool avx2_fma = false;
};
std::optional<CpuId> read_cpu_id(const FsRoot& fs);
std::optional<CpuId> parse_cpu_id(std::string_view cpuinfo);

// fp64 operations that a core can complete per clock cycle: units × lanes × 2 (fp32: twice that).
struct PeakRow {
  std::string_view vendor;
  int family;
  int first_model;
  int last_model;
  std::string_view name;
  double wide;    // with 512-bit vectors; 0 if the core has none
  double narrow;  // with 256-bit vectors (Arm: with its own)
  // Some parts of this model have one 512-bit unit, others two, and CPUID does not tell which.
  // `wide` counts two; the measured rate decides.
  bool one_or_two_units;
  std::string_view source;
};

// The row of that processor; null if unknown.
const PeakRow* peak_row(const CpuId& cpu);

struct FlopsPerCycle {
  double value = 0;  // per core
  Said how;          // "Zen 4 (family 25 model 17), 512-bit vectors: 16, AMD …"
};
// `measured_per_cycle` is the measured peak per core and cycle of the same type. It decides only
// for rows with one_or_two_units. Nothing for bf16, int8 and unknown processors.
std::optional<FlopsPerCycle> flops_per_cycle(const CpuId& cpu, GemmType type,
                                             double measured_per_cycle);

struct MeasuredPeak {
  double operations_per_second = 0;  // sum of all threads
  std::string isa;
};
// The rate of the best loop that the CPU supports. All threads run at the same time, each `bursts`
// bursts of about half a millisecond; the fastest burst of each thread counts. Nothing if the loops
// do not cover the type on this CPU.
std::optional<MeasuredPeak> measure_peak(GemmType type, Team& team, int bursts);

// The clock in hertz, the median over the threads' cores, while the call lasts (about 0.3 ms). It
// times dependent additions of one cycle each; the fastest of several bursts counts, so that an
// interruption does not.
double measure_clock_hertz(Team& team);

}  // namespace cb
