#pragma once

#include <cstdint>
#include <vector>

#include "core/histogram.h"
#include "core/samples.h"

namespace cb::io {

// Bytes and requests finished per slice of time. Slices begin at 1 ms and double in width when
// there are too many, so that a run of any length takes the same memory.
class RateSeries {
 public:
  void add(double seconds_since_start, uint64_t bytes);
  void merge(const RateSeries& other);

  struct Rates {
    Samples bytes_per_second;
    Samples io_per_second;
    double interval_seconds = 0;
  };
  // Rates over equal intervals that lie wholly inside `elapsed` seconds: about 100 ms, longer where
  // fewer than 32 requests would fall into one, shorter where there would be fewer than six. A run
  // too short for that gives one sample, the mean.
  Rates rates(double elapsed) const;

 private:
  struct Slice {
    uint64_t bytes = 0;
    uint64_t ios = 0;
  };
  void widen();
  double width_ = 1e-3;
  std::vector<Slice> slices_;
};

// What one direction amounted to in the counted time.
struct Tally {
  Histogram latency;  // seconds from intended submission to completion seen
  RateSeries series;
  uint64_t ios = 0;
  uint64_t bytes = 0;

  void add(double latency_seconds, double since_start, uint64_t length);
  void merge(const Tally& other);
};

}  // namespace cb::io
