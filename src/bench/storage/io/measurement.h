#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bench/storage/io/agreement.h"
#include "bench/storage/io/target.h"

// The steps of one measurement on all ranks, and their results.
namespace cb::io {

struct EngineChoice {
  Engine engine = Engine::io_uring;
  std::optional<Said> fallback = {};  // the reason not to use io_uring
};

// "auto" takes io_uring where it works. Throws Error if "io_uring" was asked for and does not work.
EngineChoice choose_engine(const std::string& wanted, unsigned queue_depth, const FsRoot& fs);

// All that one rank measured, before it is cut into records.
struct Measurement {
  EngineChoice choice;
  RunResult run;
  std::optional<double> fsync_seconds;
  double close_seconds = 0;
  std::optional<uint64_t> read_before, read_after;  // bytes the kernel fetched for this process
  std::optional<double> cached;                     // share in the page cache after the run
  // Share of the file in the page cache when cached reads began, and before a read-back through the
  // cache. Both are taken after the file was evicted.
  std::optional<double> cached_at_start, cached_at_read_back;
  ReadBack read_back;
  std::string read_back_of;  // the other rank's part that this rank reads back; empty: its own

  std::optional<Mismatch> wrong() const { return run.wrong ? run.wrong : read_back.wrong; }
  uint64_t checked() const { return run.blocks_checked + read_back.blocks_checked; }
  // Share of the bytes read that came from storage.
  std::optional<double> from_storage() const {
    if (!read_before || !read_after || run.bytes[0] == 0) return std::nullopt;
    return static_cast<double>(*read_after - *read_before) / static_cast<double>(run.bytes[0]);
  }
};

// Hooks that tell watchdog and progress what is going on, and the other ranks how this one stands.
RunHooks hooks_of(Context& context, const std::string& text, Agreement* agreement = nullptr);

// Runs the target's job. The clock starts after a barrier. Stops early if another rank failed.
void run_measured(Context& context, Target& target, const std::string& text, Agreement& agreement,
                  Measurement& m);

// Calls and times fsync and close.
void make_durable(Context& context, Target& target, const Params& params, Measurement& m);

// Reads what was written back from the device, past the cache. A fault that the run left is planted
// here.
void read_back_writes(Context& context, Target& target, const Params& params, Measurement& m);

// Throws Error if the job was to have a fault and there was no block to spoil: that says nothing of
// the check.
void require_planted(const Measurement& m);

}  // namespace cb::io
