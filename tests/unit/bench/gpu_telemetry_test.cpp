// The telemetry of GPU records against a driver library that behaves as a script says. One script
// for the whole process: GPU 0 is busy, well and has an Xid that may be a program's, 1 has a fatal
// Xid, 2 counts uncorrectable errors, 3 has an application's Xid, 4 is throttled by heat, 5 cannot
// tell its power.
#include "bench/gpu/telemetry.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "core/clock.h"

using namespace cb;

namespace {

constexpr const char* kScript =
    "gpus=6 watts=480 event_reasons=4 energy_millijoules_step=24000 xid@1=79 "
    "ecc_uncorrected_volatile_step@2=1 xid@0=31 xid@3=13 event_reasons@4=100 "
    "fail@5=nvmlDeviceGetFieldValues refuse@5=nvmlDeviceGetPowerUsage pcie_replays_step@0=2";

nvml::Library fake_library() {
  const char* build = std::getenv("CLUSTERBENCH_BUILD_DIR");
  const std::filesystem::path path =
      std::filesystem::path(build == nullptr ? "." : build) / "fake/fake_nvml.so";
  ::setenv("CLUSTERBENCH_NVML_LIBRARY", path.c_str(), 1);
  ::setenv("CLUSTERBENCH_FAKE_NVML", kScript, 1);
  const auto opened = nvml::open();
  REQUIRE(std::holds_alternative<nvml::Library>(opened));
  return std::get<nvml::Library>(opened);
}

const Check& check_of(const Record& record, const std::string& gpu) {
  for (const Check& c : record.checks) {
    if (record.entities[c.entity].id == gpu) return c;
  }
  FAIL("no check for GPU " << gpu);
  return record.checks.front();
}

const Delta* delta_of(const Record& record, const std::string& gpu, const std::string& name) {
  for (const Delta& d : record.telemetry.deltas) {
    if (d.name == name && record.entities[d.entity].id == gpu) return &d;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("what GPUs do during a record, and which of them do not count") {
  const auto library = fake_library();
  GpuTelemetry telemetry(library, library.gpus());
  // Windows until one has seen every GPU and both kinds of trouble; on a busy machine the watching
  // thread may not come to run for a while.
  const double start = monotonic_seconds();
  std::vector<GpuWindow> windows;
  const auto seen = [&] {
    return std::ranges::all_of(windows, [](const GpuWindow& w) { return w.samples > 0; });
  };
  do {
    telemetry.open_window();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    windows = telemetry.close_window();
  } while (monotonic_seconds() - start < 50 &&
           !(seen() && telemetry.fatal(1) && telemetry.fatal(2)));
  REQUIRE(windows.size() == 6);

  CHECK(windows[0].watts.summary().median == doctest::Approx(480));
  CHECK(windows[0].clock_hertz.summary().median == doctest::Approx(1.83e9));
  CHECK(windows[0].memory_clock_hertz.summary().median == doctest::Approx(2.619e9));
  CHECK(windows[0].share_of_memory_clock(5.238e9).summary().max == doctest::Approx(0.5));
  CHECK(library.highest_memory_clock_hertz(library.gpus()[0]).value() == doctest::Approx(2.619e9));
  CHECK(windows[0].samples > 0);
  CHECK(windows[0].power_capped == windows[0].samples);  // at the limit: normal under load
  CHECK(windows[0].throttled == 0);
  CHECK(windows[0].energy_joules.value() > 0);
  CHECK(windows[0].mean_watts().value() ==
        doctest::Approx(*windows[0].energy_joules / windows[0].seconds));
  CHECK(windows[4].throttled == windows[4].samples);
  CHECK(windows[5].watts.empty());
  CHECK(windows[0].pcie_generation == 5);

  CHECK_FALSE(telemetry.fatal(0));  // Xid 31 is no verdict on it
  CHECK(telemetry.fatal(1) == "Xid 79 GPU has fallen off the bus");
  CHECK(telemetry.fatal(2).value().text().find("uncorrectable memory error") != std::string::npos);
  CHECK_FALSE(telemetry.fatal(3));  // a program's own fault
  CHECK(telemetry.any_fatal());

  Record record{.case_name = "gemm"};
  telemetry.stop(record, "n1");
  CHECK(record.checks.size() == 6);
  REQUIRE(record.notes.size() == 1);
  CHECK(record.notes[0].text().starts_with("n1 GPU 0: Xid 31 "));
  CHECK(check_of(record, "0").passed);
  CHECK_FALSE(check_of(record, "1").passed);
  CHECK(check_of(record, "1").detail.text().find("n1 GPU 1 (GPU-") == 0);
  CHECK_FALSE(check_of(record, "2").passed);
  CHECK(check_of(record, "3").passed);
  CHECK(check_of(record, "4").passed);
  CHECK(check_of(record, "5").passed);
  const Delta* replays = delta_of(record, "0", "pcie_replays");
  REQUIRE(replays != nullptr);
  CHECK(replays->after > replays->before);
  CHECK(delta_of(record, "0", "row_remap_pending") == nullptr);  // a state is no counter
  bool watts_of_5 = false, temperature_of_5 = false;
  for (const Series& s : record.telemetry.series) {
    if (record.entities[s.entity].id != "5") continue;
    watts_of_5 |= s.name == "watts";
    temperature_of_5 |= s.name == "temperature_celsius";
  }
  CHECK_FALSE(watts_of_5);  // unreadable is absent, not zero
  CHECK(temperature_of_5);
}

// A call takes 0.1 to 0.5 ms with a GPU's firmware between: 115 of them for each of eight GPUs
// idled the GPUs between warm-up and sampling, and made of 20 Hz what was left.
TEST_CASE("a window asks each GPU for its energy and nothing else, a look for seven things") {
  const auto library = fake_library();
  const auto asked = reinterpret_cast<unsigned long long (*)()>(
      ::dlsym(::dlopen(std::getenv("CLUSTERBENCH_NVML_LIBRARY"), RTLD_NOW), "fake_nvml_calls"));
  REQUIRE((asked != nullptr));
  const std::vector<nvml::Gpu> gpus = library.gpus();
  GpuTelemetry telemetry(library, gpus);
  unsigned long long before = asked();
  telemetry.open_window();
  telemetry.close_window();
  CHECK(asked() - before == 2 * gpus.size());
  before = asked();
  library.now(gpus[0]);
  CHECK(asked() - before <= 7);
  before = asked();
  library.uncorrected_errors(gpus[0]);  // once a second
  CHECK(asked() - before == 1);
  before = asked();
  library.counters(gpus[0]);  // first and last: 18 links, each with its state
  CHECK(asked() - before <= 8 + 18 * 4 + 1);
}

TEST_CASE("mean power is the energy counter's, else the samples'") {
  GpuWindow window;
  CHECK_FALSE(window.mean_watts());
  window.watts.add(100);
  window.watts.add(300);
  CHECK(window.mean_watts() == 200);
  window.energy_joules = 1500;
  window.seconds = 3;
  CHECK(window.mean_watts() == 500);
}

TEST_CASE("power that drops late in a long burn is in its share of the limit") {
  GpuWindow window;
  for (int i = 0; i < 3000; ++i) window.watts.add(i < 2048 ? 690 : 350);
  const Summary share = window.share_of_power(700).summary();
  CHECK(share.n == 3000);
  CHECK(share.min == 0.5);
  CHECK(share.mean == doctest::Approx((2048 * 690 + 952 * 350) / 3000.0 / 700).epsilon(1e-9));
}

TEST_CASE("without a reading of the power its mean counts, and without that nothing") {
  GpuWindow window;
  CHECK(window.share_of_power(700).empty());
  window.energy_joules = 3500;
  window.seconds = 10;
  CHECK(window.share_of_power(700).summary().median == 0.5);
}
