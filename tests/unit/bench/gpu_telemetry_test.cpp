// The telemetry of GPU records against a driver library that behaves as a script says. One script
// for the whole process: GPU 0 is busy, well and has an Xid that may be a program's, 1 has a fatal
// Xid, 2 counts uncorrectable errors, 3 has an application's Xid and no GPM, 4 is throttled by heat
// and in MIG mode, 5 cannot tell its power, nor one of GPM's metrics, 6 loses an NVLink.
#include "bench/gpu/telemetry.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "core/clock.h"
#include "sys/gpu/nvml/abi.h"

using namespace cb;

namespace {

constexpr const char* kScript =
    "gpus=7 nvlink_down_after@6=18 watts=480 event_reasons=4 energy_millijoules_step=24000 "
    "xid@1=79 "
    "ecc_uncorrected_volatile_step@2=1 xid@0=31 xid@3=13 event_reasons@4=100 "
    "fail@5=nvmlDeviceGetFieldValues refuse@5=nvmlDeviceGetPowerUsage pcie_replays_step@0=2 "
    "utilisation=98 gpm_sm=97 gpm_tensor=11 gpm_dram=91 gpm_fp16=0 gpm_nvlink_sent=102400 "
    "gpm_nvlink_received=204800 gpm_pcie_sent=1024 gpm@3=0 mig_mode@4=1 gpm_refuse@5=13";

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
  // Windows until one of less than a second has seen every GPU and both kinds of trouble; on a busy
  // machine the watching thread may not come to run for a while.
  const double start = monotonic_seconds();
  std::vector<GpuWindow> windows;
  const auto seen = [&] {
    return std::ranges::all_of(windows, [](const GpuWindow& w) {
      return w.samples > 0 && !w.utilisation.empty() && w.seconds < 1;
    });
  };
  do {
    telemetry.open_window();
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    windows = telemetry.close_window();
  } while (monotonic_seconds() - start < 50 &&
           !(seen() && telemetry.fatal(1) && telemetry.fatal(2)));
  REQUIRE(windows.size() == 7);

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

  REQUIRE(windows[0].units);
  CHECK(windows[0].units->values.at("tensor_active") == doctest::Approx(0.11));
  CHECK(windows[0].units->values.at("pcie_sent_bytes_per_second") ==
        doctest::Approx(1024 * 1048576.0));
  CHECK(windows[0].units->values.at("fp16_active") == 0);  // told to be zero
  const GpuActivity did = windows[0].activity();
  CHECK(did.nvlink.value() == doctest::Approx(204800 * 1048576.0 / 450e9));  // the busier direction
  // NVML's utilisation is of up to a second ago, which is before this window.
  CHECK_FALSE(windows[0].utilisation.empty());
  CHECK_FALSE(did.utilisation);
  CHECK(activity_sentence(did) == "SM 97 %, tensor 11 %, DRAM 91 %, NVLink 48 %: bound by memory");
  CHECK_FALSE(windows[3].units);
  CHECK(windows[3].no_units.text().find("no GPM") != std::string::npos);
  CHECK(activity_sentence(windows[3].activity()) ==
        "utilisation 98 %: what limits is not known");  // all that such a GPU tells
  CHECK_FALSE(windows[4].units);
  CHECK(windows[4].no_units.text().find("MIG") != std::string::npos);
  REQUIRE(windows[5].units);
  CHECK_FALSE(windows[5].units->values.contains("fp16_active"));  // refused: absent, not zero
  CHECK(windows[5].units->unavailable.at("fp16_active").text() ==
        "nvmlGpmMetricsGet: Not Supported");

  CHECK_FALSE(telemetry.fatal(0));  // Xid 31 is no verdict on it
  CHECK(telemetry.fatal(1) == "Xid 79 GPU has fallen off the bus");
  CHECK(telemetry.fatal(2).value().text().find("uncorrectable memory error") != std::string::npos);
  CHECK_FALSE(telemetry.fatal(3));  // a program's own fault
  CHECK(telemetry.any_fatal());

  Record record{.case_name = "gemm"};
  telemetry.stop(record, "n1");
  CHECK(record.checks.size() == 7);
  REQUIRE(record.notes.size() == 1);
  CHECK(record.notes[0].text().starts_with("n1 GPU 0: Xid 31 "));
  CHECK(check_of(record, "0").passed);
  CHECK_FALSE(check_of(record, "1").passed);
  CHECK(check_of(record, "1").detail.text().find("n1 GPU 1 (GPU-") == 0);
  CHECK_FALSE(check_of(record, "2").passed);
  CHECK(check_of(record, "3").passed);
  CHECK(check_of(record, "4").passed);
  CHECK(check_of(record, "5").passed);
  CHECK_FALSE(check_of(record, "6").passed);
  CHECK(check_of(record, "6")
            .detail.text()
            .find("18 NVLinks were up before the record, 17 after it") != std::string::npos);
  CHECK(delta_of(record, "0", "nvlinks_active") == nullptr);
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
  const auto line = [&](const char* gpu, const char* name) {
    return std::ranges::any_of(record.telemetry.series, [&](const Series& one) {
      return record.entities[one.entity].id == gpu && one.name == name && one.unit == "share";
    });
  };
  CHECK(line("0", "dram_active"));
  CHECK(line("0", "gpu_utilisation"));
  CHECK_FALSE(line("3", "dram_active"));
  CHECK(line("3", "gpu_utilisation"));
  CHECK_FALSE(watts_of_5);  // unreadable is absent, not zero
  CHECK(temperature_of_5);
}

TEST_CASE("a window of more than a second has a utilisation of its own") {
  const auto library = fake_library();
  GpuTelemetry telemetry(library, {library.gpus().at(0)}, 60);
  std::vector<GpuWindow> windows;
  const double start = monotonic_seconds();
  for (auto time = std::chrono::milliseconds(1500);; time *= 2) {
    telemetry.open_window();
    std::this_thread::sleep_for(time);
    windows = telemetry.close_window();
    if (windows.at(0).activity().utilisation || monotonic_seconds() - start > 40) break;
  }
  CHECK(activity_sentence(windows.at(0).activity()) ==
        "utilisation 98 %, SM 97 %, tensor 11 %, DRAM 91 %, NVLink 48 %: bound by memory");
  CHECK(windows.at(0).utilisation.count() > windows.at(0).utilisation_within.count());
}

// A call takes 0.1 to 0.5 ms with a GPU's firmware between: 115 of them for each of eight GPUs
// idled the GPUs between warm-up and sampling, and made of 20 Hz what was left.
TEST_CASE("a window asks each GPU five times at most, a look for seven things") {
  const auto library = fake_library();
  const auto asked = reinterpret_cast<unsigned long long (*)()>(
      ::dlsym(::dlopen(std::getenv("CLUSTERBENCH_NVML_LIBRARY"), RTLD_NOW), "fake_nvml_calls"));
  REQUIRE((asked != nullptr));
  const std::vector<nvml::Gpu> gpus = library.gpus();
  GpuTelemetry telemetry(library, gpus);
  unsigned long long before = asked();
  telemetry.open_window();
  std::this_thread::sleep_for(std::chrono::milliseconds(220));
  telemetry.close_window();
  // Energy twice; a sample of the units twice and their figures once, of the five that have them.
  CHECK(asked() - before == 2 * gpus.size() + 3 * 5);
  before = asked();
  library.now(gpus[0]);
  CHECK(asked() - before <= 7);
  nvml::ActivityMeter meter(library, gpus[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(220));
  before = asked();
  CHECK(meter.take());
  library.utilisation(gpus[0]);
  CHECK(asked() - before == 3);  // five times a second
  before = asked();
  CHECK_FALSE(meter.take());  // 100 ms have not passed since
  CHECK(asked() == before);
  library.uncorrected_errors(gpus[0]);  // once a second
  CHECK(asked() - before == 1);
  before = asked();
  library.counters(gpus[0]);  // first and last: 18 links, each with its state
  CHECK(asked() - before <= 8 + 18 * 4 + 1);
}

// Whether a look comes every 50 ms is the machine's doing: a thread that does not get to run comes
// late. What is ours is the work, in calls of NVML and in time of a processor, whatever else runs.
TEST_CASE("watching seven GPUs at 20 Hz takes a processor 50 ms a second at most") {
  const auto library = fake_library();
  const auto asked = reinterpret_cast<unsigned long long (*)()>(::dlsym(
      ::dlopen(std::getenv("CLUSTERBENCH_NVML_LIBRARY"), RTLD_NOW), "fake_nvml_calls_of_all"));
  REQUIRE((asked != nullptr));
  const std::vector<nvml::Gpu> gpus = library.gpus();
  const auto processor_seconds = [] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  GpuTelemetry telemetry(library, gpus);
  const unsigned long long calls_before = asked();
  const double before = processor_seconds(), begun = monotonic_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const double spent = processor_seconds() - before, took = monotonic_seconds() - begun;
  const auto calls = static_cast<double>(asked() - calls_before);
  Record record{.case_name = "gemm"};
  telemetry.stop(record, "n1");
  size_t looks = 0;
  for (const Series& s : record.telemetry.series)
    if (s.name == "watts" && record.entities[s.entity].id == "0") looks = s.at.size();
  CAPTURE(looks);
  CAPTURE(took);
  CAPTURE(spent);
  REQUIRE(looks >= 3);
  const double of_looks = static_cast<double>(looks);
  // A look asks each GPU seven things and once for Xids; the units three things in every fourth
  // look; the errors one thing in every twentieth. One turn more may have begun.
  const double each = static_cast<double>(gpus.size());
  CAPTURE(calls);
  CHECK(calls >= (of_looks - 2) * 5 * each);  // they are counted
  CHECK(calls <= (of_looks + 1) * (7 * each + 1) + (of_looks / 4 + 2) * 3 * each +
                     (of_looks / 20 + 2) * each);
  // Of a second with its twenty looks.
#ifdef CB_SANITIZED
  const double share = 0.5;
#else
  const double share = 0.05;
#endif
  CHECK(spent / of_looks * 20 <= share);
  CHECK(of_looks <= took / GpuTelemetry::kPeriodSeconds + 3);  // nor more often than it was asked
}

// GPM by the header's rules: the header's text on nvmlGpmMetricsGet and nvmlGpmSampleGet (nvml.h
// 13, "GPM Functions") says two samples, more than 100 ms between them, and a result for each
// metric.
TEST_CASE("the stand-in's GPM has the rules of the real one") {
  const auto library = fake_library();
  void* const fake = ::dlopen(std::getenv("CLUSTERBENCH_NVML_LIBRARY"), RTLD_NOW);
  namespace abi = nvml::abi;
  const auto find = [&]<typename F>(F*& function, const char* name) {
    function = reinterpret_cast<F*>(::dlsym(fake, name));
    REQUIRE((function != nullptr));
  };
  abi::Return (*alloc)(abi::GpmSample*);
  abi::Return (*free_sample)(abi::GpmSample);
  abi::Return (*get)(abi::Device, abi::GpmSample);
  abi::Return (*metrics)(abi::GpmMetricsGet*);
  find(alloc, "nvmlGpmSampleAlloc");
  find(free_sample, "nvmlGpmSampleFree");
  find(get, "nvmlGpmSampleGet");
  find(metrics, "nvmlGpmMetricsGet");
  const std::vector<nvml::Gpu> gpus = library.gpus();
  const auto device = [&](size_t i) { return static_cast<abi::Device>(gpus[i].handle); };
  abi::GpmSample one{}, two{};
  REQUIRE(alloc(&one) == abi::kSuccess);
  REQUIRE(alloc(&two) == abi::kSuccess);
  abi::GpmMetricsGet ask{.version = 1, .count = 2, .first = one, .second = two, .metrics = {}};
  ask.metrics[0].id = abi::kGpmDram;
  ask.metrics[1].id = 29;                         // no metric has this number
  CHECK(metrics(&ask) == abi::kInvalidArgument);  // nothing was read into them
  CHECK(get(device(0), one) == abi::kSuccess);
  CHECK(metrics(&ask) == abi::kInvalidArgument);  // one sample is not enough
  CHECK(get(device(1), two) == abi::kSuccess);
  CHECK(metrics(&ask) == abi::kInvalidArgument);  // nor are those of two GPUs
  std::this_thread::sleep_for(std::chrono::milliseconds(220));
  CHECK(get(device(0), two) == abi::kSuccess);
  CHECK(metrics(&ask) == abi::kSuccess);
  CHECK(ask.metrics[0].result == abi::kSuccess);
  CHECK(ask.metrics[0].value == doctest::Approx(91));
  CHECK(ask.metrics[1].result == abi::kNotSupported);
  ask.version = 2;
  CHECK(metrics(&ask) == abi::kVersionMismatch);
  CHECK(get(device(3), one) == abi::kNotSupported);  // a product without GPM
  CHECK(get(device(4), one) == abi::kNotSupported);  // MIG: only nvmlGpmMigSampleGet reads
  CHECK(free_sample(one) == abi::kSuccess);
  CHECK(free_sample(one) == abi::kInvalidArgument);
  CHECK(free_sample(two) == abi::kSuccess);
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
