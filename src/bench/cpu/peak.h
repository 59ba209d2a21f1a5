#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bench/cpu/host_gemm.h"
#include "core/messages/said.h"
#include "sys/os/fs_root.h"

// What the cores could reach at best: measured by loops in registers, and computed from the
// processor's design and the clock measured in the run.
namespace cb {

// The processor as /proc/cpuinfo gives it, which on x86 is CPUID leaf 1 and the feature leaves.
struct CpuId {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"; "arm" for implementer 0x41
  int family = 0;      // of Arm: 0
  int model = 0;       // of Arm: the part number
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
  double wide;    // with 512-bit vectors; 0 if it has none
  double narrow;  // with 256-bit vectors (Arm: its vectors)
  // Parts of this model have one or two 512-bit units, which CPUID does not tell: `wide` is that of
  // two, and the measured rate decides.
  bool one_or_two_units;
  std::string_view source;
};

// The row of that processor, or null where we know none.
const PeakRow* peak_row(const CpuId& cpu);

struct FlopsPerCycle {
  double value = 0;  // per core
  Said how;          // "Zen 4 (family 25 model 17), 512-bit vectors: 16, AMD …"
};
// `measured_per_cycle` is the measured peak per core and cycle of the same type; it decides only
// rows with one_or_two_units. Nothing for bf16, int8 and unknown processors.
std::optional<FlopsPerCycle> flops_per_cycle(const CpuId& cpu, GemmType type,
                                             double measured_per_cycle);

struct MeasuredPeak {
  double operations_per_second = 0;  // of all threads together
  std::string isa;
};
// The best of every loop that the CPU supports: all threads run at the same time, each so many
// bursts of about half a millisecond, and the fastest of each count. Nothing where no loop covers
// the type on this CPU.
std::optional<MeasuredPeak> measure_peak(GemmType type, Team& team, int bursts);

// The clock of every thread's core while the call lasts (about 0.3 ms), from dependent additions of
// one cycle each; the fastest of several bursts, so that an interruption does not count. The median
// over the cores.
double measure_clock_hertz(Team& team);

}  // namespace cb
