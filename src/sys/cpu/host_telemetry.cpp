#include "sys/cpu/host_telemetry.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

constexpr const char* kCpuinfo = "/proc/cpuinfo";
constexpr const char* kLoad = "/proc/loadavg";

bool numbered(const std::string& name, const std::string& prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::isdigit(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

// Reads "cpu MHz" by processor number; only x86 has it.
std::map<std::string, double> clocks_of_cpuinfo(const FsRoot& fs) {
  std::map<std::string, double> out;
  const std::string text = fs.text(kCpuinfo).value_or("");
  std::string processor;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("processor")) processor = line.substr(colon + 2);
    if (!line.starts_with("cpu MHz")) continue;
    if (const auto mhz = parse_number(line.substr(colon + 2))) out[processor] = *mhz * 1e6;
  }
  return out;
}

}  // namespace

HostSensors::HostSensors(const FsRoot& fs) : fs_(fs) {
  add_cpus();
  add_clocks_of_cpuinfo();
  add_hwmon();
  add_thermal_zones();
  add_memory_controllers();
  add({"load_1min", "count", "host", "", false, kLoad});
}

void HostSensors::add(Sensor sensor) {
  if (value(sensor)) sensors_.push_back(std::move(sensor));
}

void HostSensors::add_cpus() {
  const std::string root = "/sys/devices/system/cpu";
  for (const std::string& name : fs_.entries(root)) {
    if (!numbered(name, "cpu")) continue;
    const std::string cpu = root + "/" + name;
    const std::string id = name.substr(3);
    add({"clock_hertz", "hertz", "cpu", id, false, cpu + "/cpufreq/scaling_cur_freq", 1e3});
    for (const char* where : {"core", "package"}) {
      add({fmt::format("{}_throttle_count", where), "count", "cpu", id, true,
           fmt::format("{}/thermal_throttle/{}_throttle_count", cpu, where)});
    }
  }
}

void HostSensors::add_clocks_of_cpuinfo() {
  for (const Sensor& s : sensors_) {
    if (s.name == "clock_hertz") return;
  }
  for (const auto& [id, hertz] : clocks_of_cpuinfo(fs_))
    sensors_.push_back({"clock_hertz", "hertz", "cpu", id, false, kCpuinfo});
}

void HostSensors::add_hwmon() {
  const std::string root = "/sys/class/hwmon";
  for (const std::string& device : fs_.entries(root)) {
    const std::string directory = root + "/" + device;
    const std::string chip = fs_.text(directory + "/name").value_or(device);
    for (const std::string& file : fs_.entries(directory)) {
      if (!numbered(file, "temp") || !file.ends_with("_input")) continue;
      const std::string stem = file.substr(0, file.size() - 6);
      const std::string label = fs_.text(directory + "/" + stem + "_label").value_or(stem);
      add({fmt::format("temperature_celsius {} {}", chip, label), "celsius", "host", "", false,
           directory + "/" + file, 1e-3});
    }
  }
}

void HostSensors::add_thermal_zones() {
  const std::string root = "/sys/class/thermal";
  for (const std::string& zone : fs_.entries(root)) {
    if (!numbered(zone, "thermal_zone")) continue;
    const std::string type = fs_.text(root + "/" + zone + "/type").value_or("");
    add({fmt::format("temperature_celsius {} {}", zone, type), "celsius", "host", "", false,
         root + "/" + zone + "/temp", 1e-3});
  }
}

void HostSensors::add_memory_controllers() {
  const std::string root = "/sys/devices/system/edac/mc";
  for (const std::string& controller : fs_.entries(root)) {
    if (!numbered(controller, "mc")) continue;
    add({"corrected_memory_errors " + controller, "count", "host", "", true,
         root + "/" + controller + "/ce_count"});
    add({"uncorrected_memory_errors " + controller, "count", "host", "", true,
         root + "/" + controller + "/ue_count"});
  }
}

std::optional<double> HostSensors::value(const Sensor& sensor) const {
  if (sensor.path == kLoad) {
    const std::string text = fs_.text(kLoad).value_or("");
    return parse_number(text.substr(0, text.find(' ')));
  }
  const auto raw = fs_.integer(sensor.path);
  if (!raw) return std::nullopt;
  return static_cast<double>(*raw) * sensor.scale;
}

std::vector<std::optional<double>> HostSensors::read() const {
  std::map<std::string, double> clocks;  // /proc/cpuinfo is read once, not once per CPU
  bool have_clocks = false;
  std::vector<std::optional<double>> out;
  for (const Sensor& sensor : sensors_) {
    if (sensor.path != kCpuinfo) {
      out.push_back(value(sensor));
      continue;
    }
    if (!have_clocks) clocks = clocks_of_cpuinfo(fs_);
    have_clocks = true;
    const auto found = clocks.find(sensor.id);
    out.push_back(found == clocks.end() ? std::nullopt : std::optional(found->second));
  }
  return out;
}

}  // namespace cb
