#pragma once

#include <cstdint>
#include <vector>

#include "core/histogram.h"

namespace cb::io {

// Bytes, requests and their latency per slice of time; a request counts in the slice in which it
// finished. Slices begin at 1 ms and double in width when there are too many, so that a run of any
// length takes the same memory.
class RateSeries {
 public:
  void add(double seconds_since_start, uint64_t bytes, double latency_seconds);
  void merge(const RateSeries& other);

  struct Intervals {
    double seconds = 0;  // length of each interval
    std::vector<double> bytes_per_second = {};
    std::vector<uint64_t> ios = {};
    std::vector<double> latency_sum = {};  // seconds, summed over the interval's requests
    std::vector<double> latency_max = {};  // seconds
  };
  // Rates over equal intervals that lie wholly inside `elapsed` seconds. An interval lasts about
  // 100 ms; longer if fewer than 32 requests would fall into it, shorter if there would be fewer
  // than six. Empty if the run is too short for that.
  Intervals intervals(double elapsed) const;
  // Bytes finished in the first `seconds`. The slice that `seconds` falls into counts by its share.
  double bytes_until(double seconds) const;

 private:
  struct Slice {
    uint64_t bytes = 0;
    uint64_t ios = 0;
    double latency_sum = 0;
    double latency_max = 0;
    void join(const Slice& other);
  };
  void widen();
  double width_ = 1e-3;
  double per_width_ = 1e3;  // inverse of width_, since add() is called for every request
  std::vector<Slice> slices_;
};

// The counts of one direction in the counted time.
struct Tally {
  Histogram latency;  // seconds from intended submission to completion seen
  RateSeries series;
  uint64_t ios = 0;
  uint64_t bytes = 0;

  void add(double latency_seconds, double since_start, uint64_t length);
  void merge(const Tally& other);
};

}  // namespace cb::io
