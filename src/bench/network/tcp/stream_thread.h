#pragma once

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bench/network/tcp/stream.h"

// The threads that move the streams of a bandwidth measurement, and their cost.
namespace cb::tcp {

// The machine (kernel) that a rank runs on, and the CPUs that it may use there.
struct RankCpus {
  std::string machine;
  std::vector<int> cpus;
};

// The number of CPUs that each rank can count on beside the others. A CPU that k ranks may use
// counts 1/k for each of them. Rounded down, at least 1.
std::vector<size_t> cpus_per_rank(const std::vector<RankCpus>& ranks);

// The number of threads that move the streams of one direction: one per stream, but not more than
// CPUs: more threads are slower (docs/evidence/tcp.md).
size_t threads_for(size_t streams, size_t cpus);

// The work of one thread in one phase.
struct Tally {
  uint64_t bytes = 0;
  double seconds = 0;      // wall clock time
  double cpu_seconds = 0;  // CPU time of this thread, user and system
  void add(const Tally& other);
};

// Counts a thread's bytes, time and CPU by phase.
class PhaseCounters {
 public:
  explicit PhaseCounters(const TransferControl& control) : control_(control) {}
  void begin();  // called on the thread itself
  Phase look();  // returns the current phase; if it is new, closes the counters of the one before
  void close();  // called at the end of the thread
  void add(uint64_t bytes) { open_.bytes += bytes; }
  const Tally& of(Phase phase) const { return tallies_[static_cast<size_t>(phase)]; }
  Phase seen() const { return seen_.load(std::memory_order_acquire); }

 private:
  const TransferControl& control_;
  std::array<Tally, kPhases> tallies_ = {};
  Tally open_ = {};
  double since_ = 0, cpu_since_ = 0;
  std::atomic<Phase> seen_{Phase::warm_up};
};

// A thread that moves streams of one direction. A single stream is moved by calls that sleep.
// Several streams take turns: poll() finds those that are ready, and each gets one call.
class StreamThread {
 public:
  StreamThread(std::vector<StreamEnd*> streams, const Spec& spec, const TransferControl& control);
  ~StreamThread();
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;

  void start();
  void join();
  const PhaseCounters& counters() const { return counters_; }

 private:
  void work();
  void move_one(StreamEnd& stream);
  void move_all();

  std::vector<StreamEnd*> streams_;
  const TransferControl& control_;
  std::vector<std::byte> memory_;
  PhaseCounters counters_;
  std::thread thread_;
};

}  // namespace cb::tcp
