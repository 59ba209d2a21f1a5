// The one header through which NVML, the driver's management library, is called. It is opened at
// run time (CLUSTERBENCH_NVML_LIBRARY overrides the path) and never closed. A value that a GPU or a
// driver version does not report is absent, with NVML's reason; it is never zero.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/inventory.h"

namespace cb::nvml {

// NVML cannot be used at all, with the reason.
struct Absent {
  Said reason;
};

// Numbers by name, and the reason for each number that could not be read.
struct Readings {
  std::map<std::string, double> values = {};
  std::map<std::string, Said> unavailable = {};
};

// One GPU, in NVML's order.
struct Gpu {
  unsigned index = 0;
  std::string uuid;         // empty if the GPU does not answer
  std::string pci_address;  // "0000:9b:00.0"
  std::string name;
  double memory_bytes = 0;
  Said no_address = {};    // why it tells no pci_address of a GPU of which it has a handle
  Said unreachable = {};   // why NVML has no handle ("GPU is lost"); empty if it has one
  void* handle = nullptr;  // an nvmlDevice_t
};

// A critical error event.
struct XidEvent {
  unsigned gpu = 0;  // the GPU's index
  uint64_t xid = 0;
};

// Bits of the clock event reasons (nvmlClocksEventReason…).
inline constexpr uint64_t kSwPowerCap = 0x4, kHwSlowdown = 0x8, kSwThermal = 0x20,
                          kHwThermal = 0x40, kPowerBrake = 0x80;

// How two GPUs reach each other, named as in `nvidia-smi topo -m`: NV18 (18 NVLinks), PIX, PXB,
// PHB, NODE, SYS, X for itself; empty if NVML does not say.
using Topology = std::vector<std::vector<std::string>>;

struct Table;

// An initialised NVML. Thread-safe, because NVML is.
class Library {
 public:
  explicit Library(std::shared_ptr<const Table> table);

  // Returns every GPU, including lost ones.
  std::vector<Gpu> gpus() const;
  std::string driver_version() const;  // empty if unknown

  // Adds what the GPU is and how it is set to the inventory's part.
  void describe(const Gpu& gpu, Part& part) const;
  Topology topology(const std::vector<Gpu>& gpus) const;

  // Reads the state that node health checks look at, named as in the case `health`.
  Readings health(const Gpu& gpu) const;
  // Reads what changes from moment to moment: watts, temperature_celsius,
  // memory_temperature_celsius, clock_hertz, memory_clock_hertz, event_reasons (bits),
  // pcie_generation, pcie_lanes.
  Readings now(const Gpu& gpu) const;
  // Reads counters that only grow: energy_joules, ecc_corrected, ecc_uncorrected, rows_remapped…,
  // power_cap_seconds, thermal_seconds, pcie_replays, nvlink_errors. Asks each NVLink: call it at
  // the start and the end of a record, not between.
  Readings counters(const Gpu& gpu) const;
  // These make one call each, so that they can be called while a GPU works.
  std::optional<double> energy_joules(const Gpu& gpu) const;
  std::optional<double> uncorrected_errors(const Gpu& gpu) const;  // reads ecc_uncorrected
  // The share of the last sixth to whole second in which a kernel ran: nvidia-smi's utilisation.
  std::optional<double> utilisation(const Gpu& gpu) const;
  std::optional<double> power_limit_watts(const Gpu& gpu) const;
  std::optional<double> highest_memory_clock_hertz(const Gpu& gpu) const;
  // The ids of the processes with a CUDA context on the GPU, as the host numbers them; nothing, and
  // sets `why`, if NVML does not say.
  std::optional<std::vector<int>> processes(const Gpu& gpu, Said& why) const;

 private:
  friend class ActivityMeter;
  friend class XidWatch;
  std::shared_ptr<const Table> table_;
};

// What the units of one GPU did between two moments, by NVML's GPM. Not for two threads at once.
class ActivityMeter {
 public:
  // The driver refreshes its counters every 100 ms: nothing is told of a shorter time.
  static constexpr double kLeastSeconds = 0.1;

  ActivityMeter(const Library& library, const Gpu& gpu);
  ~ActivityMeter();
  ActivityMeter(const ActivityMeter&) = delete;
  ActivityMeter& operator=(const ActivityMeter&) = delete;

  // Why there is nothing to read: an older product or driver, MIG mode; empty if there is.
  const Said& absent() const { return absent_; }
  void mark();  // what comes counts from here; one call of NVML
  // What was done since the mark, which goes to now; two calls of NVML. Shares of the time:
  // sm_active, sm_occupancy, tensor_active, fp64_active, fp32_active, fp16_active, integer_active;
  // dram_active, a share of the memory's rate; pcie_sent_bytes_per_second, pcie_received_…,
  // nvlink_sent_…, nvlink_received_…. Nothing before kLeastSeconds, and the mark stays.
  std::optional<Readings> take();

 private:
  Said find_out();
  std::shared_ptr<const Table> table_;
  Gpu gpu_;
  Said absent_ = {};
  void* marked_ = nullptr;  // nvmlGpmSample_t
  void* other_ = nullptr;
  double marked_at_ = -1;  // monotonic seconds; negative: there is no mark
};

// Opens and initialises NVML once in the process; later calls get the same answer. May hang with a
// broken driver: use call_with_deadline().
std::variant<Library, Absent> open();

// Returns the call that NVML is in now or was in last, for messages about hangs:
// "nvmlDeviceGetPowerUsage of GPU 3". Safe from any thread.
std::string last_call();

// Collects critical errors of the GPUs from its construction on. Reports nothing if the driver
// refuses events.
class XidWatch {
 public:
  XidWatch(const Library& library, const std::vector<Gpu>& gpus);
  ~XidWatch();
  XidWatch(const XidWatch&) = delete;
  XidWatch& operator=(const XidWatch&) = delete;

  bool watching() const { return set_ != nullptr; }
  std::vector<XidEvent> take();  // events since the last call; does not wait

 private:
  std::shared_ptr<const Table> table_;
  std::vector<Gpu> gpus_;
  void* set_ = nullptr;
};

}  // namespace cb::nvml
