#pragma once

#include <cstdint>
#include <optional>

#include "bench/storage/io/job.h"

namespace cb::io {

// A bijection of [0, count) that looks random: the same seed gives the same order. It consists of
// rounds of xor-shift and odd multiplication, each invertible on the next power of two. A result
// beyond count is scrambled again until it falls inside (cycle walking, Black & Rogaway 2002).
class Permutation {
 public:
  Permutation(uint64_t count, uint64_t seed);
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t scramble(uint64_t x) const;
  uint64_t count_;
  unsigned shift_;
  uint64_t mask_;
  uint64_t key_[3];
};

// Maps `uniform` in [0, 1) to numbers of [0, count) with probability proportional to 1 / (rank +
// 1)^theta, by inverting the integral of the density. This is exact for the continuous law, whose
// parts of length one are the ranks, and within a few per cent of the discrete law on the first
// ranks.
class Zipf {
 public:
  Zipf(uint64_t count, double theta);
  uint64_t operator()(double uniform) const;

 private:
  uint64_t count_;
  double theta_;
  double whole_;  // integral of x^-theta from 1 to count + 1
};

// One request: `length` bytes at `offset`.
struct Op {
  Direction direction = Direction::read;
  uint64_t offset = 0;
  uint32_t length = 0;
};

// The requests of one thread, in the order of issue. Each pass touches every block of the thread's
// part of the file exactly once, and the parts of all threads cover the file. The order is
// deterministic, so that the same requests can be repeated later to check what was written.
class OpSource {
 public:
  // `thread` in [0, job.threads).
  OpSource(const Job& job, unsigned thread);

  // The next request; nothing after the first pass of a job that is bounded by size.
  std::optional<Op> next();
  uint64_t issued() const { return issued_; }
  uint64_t blocks() const { return blocks_; }  // number of blocks in this thread's part

 private:
  uint64_t block_of(uint64_t index);
  Direction choose();

  Job job_;
  uint64_t first_ = 0;
  uint64_t blocks_ = 0;
  uint64_t thread_seed_ = 0;
  uint64_t issued_ = 0;
  uint64_t index_ = 0;  // position in this pass
  uint64_t pass_ = 0;
  Permutation order_;
  Zipf zipf_;  // picks the rank for Order::zipf; order_ spreads hot blocks over the part
};

// A well-mixed 64-bit number from another (splitmix64, Steele, Lea & Flood 2014).
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace cb::io
