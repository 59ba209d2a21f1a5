#include "bench/harness/telemetry.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "bench/cpu/burn/rates.h"
#include "sys/cpu/host_memory.h"

using namespace cb;

namespace {

// A sysfs and procfs of our own.
class Tree {
 public:
  Tree()
      : root_(std::filesystem::temp_directory_path() /
              ("cb_telemetry_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(root_);
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void put(const std::string& path, const std::string& text) const {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  FsRoot fs() const { return FsRoot(root_); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("sensors are found and scaled to SI units") {
  const Tree tree;
  tree.put("proc/loadavg", "1.50 0.70 0.30 2/345 6789");
  tree.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000");
  tree.put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "17");
  tree.put("sys/devices/system/cpu/cpuidle/current_driver", "none");
  tree.put("sys/class/hwmon/hwmon1/name", "coretemp");
  tree.put("sys/class/hwmon/hwmon1/temp1_input", "54500");
  tree.put("sys/class/hwmon/hwmon1/temp1_label", "Package id 0");
  tree.put("sys/class/hwmon/hwmon1/temp1_crit", "100000");
  tree.put("sys/class/thermal/thermal_zone0/type", "acpitz");
  tree.put("sys/class/thermal/thermal_zone0/temp", "27800");
  tree.put("sys/devices/system/edac/mc/mc0/ce_count", "3");
  const HostSensors sensors(tree.fs());
  const auto values = sensors.read();
  std::map<std::string, double> by_name;
  for (size_t i = 0; i < values.size(); ++i)
    by_name[sensors.sensors()[i].name + "@" + sensors.sensors()[i].id] = values[i].value();
  CHECK(by_name.size() == 6);
  CHECK(by_name.at("clock_hertz@0") == doctest::Approx(2.4e9));
  CHECK(by_name.at("core_throttle_count@0") == 17);
  CHECK(by_name.at("temperature_celsius coretemp Package id 0@") == doctest::Approx(54.5));
  CHECK(by_name.at("temperature_celsius thermal_zone0 acpitz@") == doctest::Approx(27.8));
  CHECK(by_name.at("corrected_memory_errors mc0@") == 3);
  CHECK(by_name.at("load_1min@") == 1.5);
}

TEST_CASE("clocks come from cpuinfo where cpufreq is not there") {
  const Tree tree;
  tree.put("proc/cpuinfo",
           "processor\t: 0\ncpu MHz\t\t: 2100.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.0\n");
  const HostSensors sensors(tree.fs());
  REQUIRE(sensors.sensors().size() == 2);
  CHECK(sensors.sensors()[1].id == "1");
  CHECK(*sensors.read()[0] == doctest::Approx(2.1005e9));
  CHECK(*sensors.read()[1] == doctest::Approx(3e9));
}

TEST_CASE("a bare machine has no sensors, not zeros") {
  const Tree tree;
  CHECK(HostSensors(tree.fs()).sensors().empty());
}

TEST_CASE("series carry values over time, counters a difference, and a series where they grew") {
  const Tree tree;
  tree.put("proc/loadavg", "1.50 0.70 0.30 2/345 6789");
  tree.put("sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "17");
  tree.put("sys/devices/system/cpu/cpu4/thermal_throttle/core_throttle_count", "9");
  tree.put("sys/devices/system/cpu/cpu5/thermal_throttle/core_throttle_count", "3");
  TelemetrySampler sampler(tree.fs(), 0.02);
  // Many short waits: where the process stands still, both threads go on with what is left.
  for (int i = 0; i < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  tree.put("sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "21");
  tree.put("sys/devices/system/cpu/cpu4/thermal_throttle/core_throttle_count", "2");  // reset
  Record record;
  sampler.stop(record, "n1");
  REQUIRE(record.telemetry.series.size() == 2);
  const Series& grown = record.telemetry.series[0];
  CHECK(grown.name == "core_throttle_count");
  CHECK(grown.values == std::vector<double>{17, 21});
  CHECK(grown.at[0] < grown.at[1]);
  const Series& load = record.telemetry.series[1];
  CHECK(load.values.size() >= 3);
  CHECK(load.values.size() == load.at.size());
  CHECK(load.values.front() == 1.5);
  CHECK(load.at.back() > load.at.front());
  REQUIRE(record.telemetry.deltas.size() == 2);
  CHECK(record.telemetry.deltas[1].before == record.telemetry.deltas[1].after);
  CHECK(record.telemetry.deltas[0].before == 17);
  CHECK(record.telemetry.deltas[0].after == 21);
  const Entity& e = record.entities[record.telemetry.deltas[0].entity];
  CHECK(e.host == "n1");
  CHECK(e.kind == "cpu");
  CHECK(e.id == "3");
}

TEST_CASE("a bounded series keeps its whole span at even distances") {
  BoundedSeries series;
  for (int i = 0; i < 10000; ++i) series.add(i, 2.0 * i);
  CHECK(series.at().size() <= BoundedSeries::kBound);
  CHECK(series.at().size() > BoundedSeries::kBound / 2);
  CHECK(series.at().front() == 0);
  const double step = series.at()[1];
  for (size_t i = 0; i < series.at().size(); ++i) {
    REQUIRE(series.at()[i] == step * static_cast<double>(i));
    REQUIRE(series.values()[i] == 2 * series.at()[i]);
  }
  CHECK(10000 - series.at().back() <= step);
}

TEST_CASE("rates are differences over whole windows") {
  RateWindows windows(1.0, 2);
  windows.start(10, {100, 1000});
  CHECK_FALSE(windows.add(10.5, {150, 1500}));
  CHECK_FALSE(windows.add(10.999, {150, 1500}));
  CHECK(windows.add(11.25, {225, 1500}));
  CHECK(windows.add(12.25, {325, 1500}));
  CHECK_FALSE(windows.add(13, {999, 9999}));  // the last, cut short, is left out
  CHECK(windows.rates(0) == std::vector<double>{100, 100});
  CHECK(windows.rates(1) == std::vector<double>{400, 0});
  CHECK(windows.total() == std::vector<double>{500, 100});
  CHECK(RateWindows(1, 0).total().empty());
}

TEST_CASE("available memory is the least of the host's and the control group's") {
  const Tree tree;
  CHECK_FALSE(available_memory_bytes(tree.fs()).has_value());
  tree.put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:    900 kB");
  CHECK(available_memory_bytes(tree.fs()) == 900 * 1024);
  tree.put("sys/fs/cgroup/memory.max", "max");
  tree.put("sys/fs/cgroup/memory.current", "4096");
  CHECK(available_memory_bytes(tree.fs()) == 900 * 1024);
  tree.put("sys/fs/cgroup/memory.max", "500000");
  CHECK(available_memory_bytes(tree.fs()) == 500000 - 4096);
  tree.put("sys/fs/cgroup/memory.current", "600000");
  CHECK(available_memory_bytes(tree.fs()) == 0);
}
