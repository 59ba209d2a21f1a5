#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "core/result.h"
#include "sys/cpu/host_telemetry.h"

namespace cb {

// Points of a time line, of which at most 1,000 are kept: when full, every second one is dropped
// and from then on only every second one (fourth, …) taken.
class BoundedSeries {
 public:
  static constexpr size_t kBound = 1000;
  void add(double at, double value);
  const std::vector<double>& at() const { return at_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> at_, values_;
  size_t stride_ = 1;
  size_t seen_ = 0;
};

// Reads the host's sensors on a thread of its own, from construction to stop().
class TelemetrySampler {
 public:
  static constexpr double kPeriodSeconds = 0.4;

  explicit TelemetrySampler(const FsRoot& fs, double period_seconds = kPeriodSeconds);
  ~TelemetrySampler();
  TelemetrySampler(const TelemetrySampler&) = delete;
  TelemetrySampler& operator=(const TelemetrySampler&) = delete;

  // Takes a last reading, ends the thread and adds what was seen to the record: series of values
  // with seconds since construction, deltas of counters, and of those that grew the readings before
  // and after each change. A counter that went backwards is left out.
  void stop(Record& record, const std::string& host);

 private:
  void loop();
  void take();
  void join();

  HostSensors sensors_;
  double period_;
  double start_;
  double last_at_ = 0;  // when last_ was read, in seconds since start_
  std::vector<std::optional<double>> first_;
  std::vector<std::optional<double>> last_;
  std::vector<BoundedSeries> series_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cb
