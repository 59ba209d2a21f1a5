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

// The file that a job works on, open, and what is known of its content.
struct FileView {
  int fd = -1;
  std::string path;                  // for messages
  const Pattern* pattern = nullptr;  // makes what is written; null for a file that is only read
  bool content_known = false;        // reads can be compared with the pattern
  uint32_t nvme_namespace = 0;       // of a generic NVMe device (/dev/ngXnY), which is only read
  uint32_t nvme_block = 0;           // bytes per logical block of that
  bool is_device = false;            // whose end inside the known size means that it has gone
};

// What run_job() tells and asks its caller while the workers work.
struct RunHooks {
  std::function<void()> before_start = [] {};            // called once when all workers are ready
  std::function<void(double)> progress = [](double) {};  // share done, in [0, 1]; only if it moved
  // Several times a second: how this run stands, for what all runs that belong together make of it.
  // Stand::stop or above ends the run.
  std::function<Stand(Stand)> consult = [](Stand mine) { return mine; };
};

// What one thread of a job did in the counted time.
struct ThreadShare {
  uint64_t bytes = 0;
  double done = 0;  // when it had finished its last request, seconds of counted time
};

struct RunResult {
  std::array<Tally, 2> tally = {};     // by Direction, counted time only
  std::array<uint64_t, 2> bytes = {};  // by Direction, warm-up included
  double lead = 0;                     // seconds before the counted time
  double elapsed = 0;                  // seconds of counted time
  std::vector<uint64_t> issued = {};   // requests per thread: what OpSource gave out
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};  // the first wrong block; then nothing else means anything
  Said engine;                         // how exactly, for the record's facts
  Said clock;                          // that timed it, likewise
  uint64_t finished_ios = 0;           // warm-up included
  uint64_t system_calls = 0;           // of io_uring for these; other engines: 0
  double cpu_seconds = 0;              // user and system of the threads, over all of these
  std::vector<ThreadShare> threads = {};
  std::optional<Conditioning> conditioning = {};  // of a job that waits for a steady state
  bool stopped = false;                           // before its end, since another run wanted it
  // The first request that failed: everything above is what was done until then.
  std::optional<Said> failure = {};

  const Tally& of(Direction d) const { return tally[static_cast<size_t>(d)]; }
  // Not all of it was done, here or elsewhere: no rates.
  bool partial() const { return failure || stopped; }
  // Of the threads; with no thread 0.
  double first_done() const;
  double last_done() const;
};

// Runs the job on the calling host: job.threads workers with their own ring each, or, with
// Engine::threads, queue_depth blocking threads for each of them. A request that fails ends the run
// and stands in the result. Throws Interrupted, or Error for what is no request's failure; calls
// hooks.before_start exactly once in any case, so that it may hold a barrier.
RunResult run_job(const Job& job, const FileView& file, Engine engine, const FsRoot& fs,
                  const CancelToken& cancel, const RunHooks& hooks);

// Reads blocks that the job wrote (the first `issued[t]` requests of each thread) again, one of
// `every`, and compares them with what was written.
struct ReadBack {
  uint64_t blocks_checked = 0;
  std::optional<Mismatch> wrong = {};
};
ReadBack read_back(const Job& job, const FileView& file, const std::vector<uint64_t>& issued,
                   unsigned every, const CancelToken& cancel,
                   const std::function<void(double)>& progress);

}  // namespace cb::io
