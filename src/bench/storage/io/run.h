#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/cancel.h"
#include "bench/storage/io/agreement.h"
#include "bench/storage/io/job.h"
#include "bench/storage/io/offsets.h"
#include "bench/storage/io/pattern.h"
#include "bench/storage/io/steady.h"
#include "bench/storage/io/tally.h"
#include "core/error.h"
#include "sys/os/fs_root.h"

namespace cb::io {

enum class Engine { io_uring, threads, null };
const char* engine_name(Engine engine);

// A request that the kernel failed (EIO, ENOSPC, …).
class IoError : public Error {
 public:
  using Error::Error;
};

// The open file that a job works on, and what is known of its content.
struct FileView {
  int fd = -1;
  std::string path;                  // for messages
  const Pattern* pattern = nullptr;  // makes the data to write; null for a file that is only read
  bool content_known = false;        // reads can be compared with the pattern
  uint32_t nvme_namespace = 0;       // generic NVMe device (/dev/ngXnY), only read; else 0
  uint32_t nvme_block = 0;           // bytes per logical block of that namespace
  bool is_device = false;  // an end of file inside the known size means that the device has gone
};

// What run_job() tells and asks its caller while the workers work.
struct RunHooks {
  std::function<void()> before_start = [] {};            // called once when all workers are ready
  std::function<void(double)> progress = [](double) {};  // share done, in [0, 1]; only if it moved
  // Called several times a second with this run's state; returns the state of all runs that belong
  // together. RunState::stop or above ends the run.
  std::function<RunState(RunState)> consult = [](RunState mine) { return mine; };
};

// What one thread of a job did in the counted time.
struct ThreadWork {
  uint64_t bytes = 0;
  double done = 0;  // seconds of counted time until its last request was finished
};

struct RunResult {
  std::array<Tally, 2> tally = {};     // indexed by Direction, counted time only
  std::array<uint64_t, 2> bytes = {};  // indexed by Direction, warm-up included
  double lead = 0;                     // seconds before the counted time
  double elapsed = 0;                  // seconds of counted time
  std::vector<uint64_t> issued = {};   // requests per thread that OpSource gave out
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};  // the first wrong block; if set, nothing else means anything
  Said engine;                         // how the engine worked, for the record's facts
  Said clock;                          // which clock timed it, for the record's facts
  uint64_t finished_ios = 0;           // warm-up included
  uint64_t system_calls = 0;  // system calls of io_uring for finished_ios; other engines: 0
  double cpu_seconds = 0;     // user and system time of the threads for finished_ios
  std::vector<ThreadWork> threads = {};
  std::optional<Conditioning> conditioning = {};  // only if the job waits for a steady state
  bool stopped = false;                           // ended early because another run wanted it
  bool fault_left = false;  // a faulty job that came to no block in which to plant its fault
  // The first request that failed. All other fields then say what was done until it failed.
  std::optional<Said> failure = {};

  const Tally& of(Direction d) const { return tally[static_cast<size_t>(d)]; }
  // Not all was done, here or on another rank: the run has no rates.
  bool partial() const { return failure || stopped; }
  // Time at which the first and the last thread was done; 0 if there are no threads.
  double first_done() const;
  double last_done() const;
};

// Runs the job on the calling host with job.threads workers. Each has its own ring, or with
// Engine::threads queue_depth blocking threads. A request that fails ends the run and stands in the
// result. Throws Interrupted, or Error for any other failure. Calls hooks.before_start exactly once
// in any case, so that the hook may hold a barrier.
RunResult run_job(const Job& job, const FileView& file, Engine engine, const FsRoot& fs,
                  const CancelToken& cancel, const RunHooks& hooks);

// Walks the first `issued[t]` requests of each thread again, reads one of `every` back if it wrote,
// and compares the block with what was written. `spoil_first`: plants a fault in the first block.
struct ReadBack {
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};
};
ReadBack read_back(const Job& job, const FileView& file, const std::vector<uint64_t>& issued,
                   unsigned every, const CancelToken& cancel,
                   const std::function<void(double)>& progress, bool spoil_first = false);

}  // namespace cb::io
