#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/os/fs_root.h"

namespace cb {

// One thing that a host tells about itself while it works.
struct Sensor {
  std::string name;  // "clock_hertz", "temperature_celsius coretemp Package id 0"
  std::string unit;
  std::string kind;      // of the entity: "cpu" or "host"
  std::string id;        // of the entity: the cpu's number, empty for the host
  bool counter = false;  // only the difference between two readings means something
  std::string path = {};
  double scale = 1;
};

// What can be read below `fs` without root rights: clock per CPU (cpufreq, else /proc/cpuinfo),
// temperatures (hwmon, thermal zones), thermal throttling counters per CPU, memory errors counted
// by the memory controllers (EDAC), load average. A sensor that is not there is not listed.
class HostSensors {
 public:
  explicit HostSensors(const FsRoot& fs);

  const std::vector<Sensor>& sensors() const { return sensors_; }
  // In the order of sensors(), in their units; nothing where a reading failed.
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
