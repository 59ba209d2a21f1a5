#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/params.h"
#include "sys/storage/uring.h"

namespace cb::io {

enum class Direction { read = 0, write = 1 };
const char* direction_name(Direction direction);  // "read", "write"

enum class Order { sequential, random, zipf };

// What one rank does to its file. Sizes are in bytes, times in seconds.
struct Job {
  Order order = Order::random;
  int read_percent = 100;  // percentage of requests that read: 100 only reads, 0 only writes
  uint64_t block_bytes = 4096;
  uint64_t file_bytes = 0;   // a multiple of block_bytes; a foreign file may end in a short block
  uint64_t first_byte = 0;   // offset of these bytes in the file; a multiple of block_bytes
  unsigned queue_depth = 1;  // requests in flight per thread
  unsigned threads = 1;      // each has its own part of the file
  std::optional<double> seconds = {};  // absent: the run ends when each block was accessed once
  double warm_up_seconds = 0;          // time before the counted time; only if `seconds` is set
  uint64_t seed = 1;
  unsigned check_every = 16;  // one read in `check_every` is compared with what was written
  unsigned generation = 1;    // the generation stamped on written data, see Pattern
  double rate = 0;            // requests per second of all threads together; 0: unlimited
  double zipf_theta = 1.1;    // exponent for Order::zipf
  unsigned reap = 1;          // completions that one wait of io_uring asks for
  UringPoll poll = UringPoll::none;
  std::vector<int> cpus = {};  // the threads are bound to these CPUs; empty: not bound

  double steady_round = 0;  // seconds; above 0: the counted time begins in a steady state
  bool verify_only = false;
  bool faulty = false;  // spoil one block as it is read, or as it is written if nothing is read

  // A read may find the data as laid out or as written.
  bool either_generation() const { return writes() || verify_only; }
  bool reads() const { return read_percent > 0; }
  bool writes() const { return read_percent < 100; }
  uint64_t blocks() const { return (file_bytes + block_bytes - 1) / block_bytes; }
};

// The job that the case's parameters describe. file_bytes is --size rounded down to whole blocks.
Job job_of(const Params& params);

// "randread 4K, queue depth 32, 1 thread".
std::string job_text(const Params& params);

// Adds the problems of parameters that are right one by one but not together.
void check_params(const Params& params, Problems& problems);

}  // namespace cb::io
