#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>

// Where the time of a step goes, and what was computed in it.
namespace cb::training {

enum class Work { matmul, attention, elementwise, optimizer, communication };
constexpr int kWorks = 5;

// A matrix product as a library sees it.
struct MatmulKey {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool of_head = false;  // where the device computes the head's in another type
  auto operator<=>(const MatmulKey&) const = default;
};

struct Ledger {
  std::array<double, kWorks> seconds = {};
  std::map<MatmulKey, int64_t> matmuls = {};  // how often each
  double elementwise_bytes = 0;               // read and written, each array once
  double optimizer_bytes = 0;
  int64_t attention_forwards = 0;
  int64_t attention_backwards = 0;

  double of(Work work) const { return seconds[static_cast<size_t>(work)]; }
  double computing() const {
    return of(Work::matmul) + of(Work::attention) + of(Work::elementwise) + of(Work::optimizer);
  }
};

}  // namespace cb::training
