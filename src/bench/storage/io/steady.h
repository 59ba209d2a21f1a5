#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/messages/said.h"

// Decides whether a drive's rate will last: SNIA Solid State Storage Performance Test
// Specification 2.0.1, steady state. In a window of five rounds, the largest and the smallest rate
// differ by at most 20 % of the average, and the straight line through the rates (least squares)
// moves by at most 10 % of it. The search ends after 25 rounds.
namespace cb::io {

constexpr size_t kSteadyWindow = 5;
constexpr size_t kMaxSteadyRounds = 25;
constexpr double kMaxSteadyRange = 0.20;
constexpr double kMaxSteadySlope = 0.10;

struct Steadiness {
  double range = 0;  // (largest - smallest) / average of the last five rounds
  double slope = 0;  // how far their line moves from the first to the fifth, over the average
  bool reached() const { return range <= kMaxSteadyRange && slope <= kMaxSteadySlope; }
};

// Steadiness of the last five rates; nothing if there are fewer or their average is zero.
std::optional<Steadiness> steadiness(std::span<const double> rates);

// Cuts a run's progress into rounds until they are steady.
class Conditioning {
 public:
  // Rounds of `round_seconds` begin at `begin`, by the same clock as look().
  Conditioning(double round_seconds, double begin) : length_(round_seconds), begin_(begin) {}

  // `finished`: bytes of the run so far. Call it often compared with a round. A round that is
  // looked at late counts with its real length.
  void look(double now, uint64_t finished);
  bool over() const { return reached() || rates_.size() >= kMaxSteadyRounds; }
  bool reached() const;
  size_t rounds() const { return rates_.size(); }
  const std::vector<double>& rates() const { return rates_; }  // bytes per second
  // "reached after 7 rounds of 60 s: range 0.050 (at most 0.2), slope 0.020 (at most 0.1)".
  Said text() const;

 private:
  double length_;
  double begin_;  // start of the current round
  std::optional<uint64_t> at_begin_ = {};
  std::vector<double> rates_;
};

}  // namespace cb::io
