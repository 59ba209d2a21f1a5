#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb {

// One reading that a host offers while it works.
struct Sensor {
  std::string name;  // "clock_hertz", "temperature_celsius coretemp Package id 0"
  std::string unit;
  std::string kind;      // the entity's kind: "cpu" or "host"
  std::string id;        // the entity's id: the CPU's number, empty for the host
  bool counter = false;  // true if only the difference between two readings means something
  std::string path = {};
  double scale = 1;
};

// The sensors that can be read below `fs` without root rights: clock per CPU (cpufreq, else
// /proc/cpuinfo), temperatures (hwmon, thermal zones), thermal throttling counters per CPU, memory
// errors counted by the memory controllers (EDAC), load average. An absent sensor is not listed.
class HostSensors {
 public:
  explicit HostSensors(const FsRoot& fs);

  const std::vector<Sensor>& sensors() const { return sensors_; }
  // Returns values in the order of sensors(), in their units; nothing for a failed reading.
  std::vector<std::optional<double>> read() const;

 private:
  void add_cpus();
  void add_clocks_of_cpuinfo();
  void add_hwmon();
  void add_thermal_zones();
  void add_memory_controllers();
  void add(Sensor sensor);
  std::optional<double> value(const Sensor& sensor) const;

  FsRoot fs_;
  std::vector<Sensor> sensors_;
};

}  // namespace cb
