// Runs a case on ranks that are threads of this process.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/runner.h"
#include "core/error.h"
#include "tests/unit/bench/thread_comm.h"

namespace cb {

class NoProgress final : public Progress {
 public:
  void update(double, const std::string&) override {}
  void done() override {}
};

struct Run {
  std::vector<Record> records;                 // of rank 0
  std::vector<std::string> thrown;             // by rank
  std::vector<std::vector<Record>> published;  // by rank
};

// Each rank is a host of its own, n0 and on, with what is below `root`.
inline Run run_on(int ranks, const Case& c, const Params& params = {},
                  const FsRoot& fs = FsRoot("/nonexistent")) {
  const auto n = static_cast<size_t>(ranks);
  Run out{{}, std::vector<std::string>(n), std::vector<std::vector<Record>>(n)};
  std::mutex mutex;
  ThreadGroup group(ranks);
  group.run([&](Comm& comm) {
    const RankMap place = locate_ranks(comm, "n" + std::to_string(comm.rank()));
    Watchdog watchdog([](const WatchState&) {});
    CancelToken cancel;
    Sampler sampler(comm, watchdog, cancel);
    NoProgress progress;
    const HostInventory inventory{place.host};
    Context context{comm, place, sampler, watchdog, cancel, progress, fs, inventory};
    auto& published = out.published[static_cast<size_t>(comm.rank())];
    context.publisher = [&](const Record& r) { published.push_back(r); };
    try {
      auto records = run_case(c, context, params);
      const std::lock_guard lock(mutex);
      if (comm.is_root()) out.records = std::move(records);
    } catch (const Interrupted& e) {
      const std::lock_guard lock(mutex);
      if (comm.is_root()) out.records = e.finished();
      out.thrown[static_cast<size_t>(comm.rank())] = e.what();
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex);
      out.thrown[static_cast<size_t>(comm.rank())] = e.what();
    }
  });
  return out;
}

inline Case case_of(RunCase run, Needs needs = {}) {
  Case c{.info = {.name = "x"}, .run = std::move(run)};
  c.info.metrics = {{"m", "seconds", Better::lower, "a made-up time"}};
  c.info.needs = needs;
  return c;
}

inline Record good(const Context& context) {
  Record r{.case_name = "x"};
  r.add("m", r.entity({context.place.host, "host", ""}), {1});
  return r;
}

}  // namespace cb
