#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/harness/cancel.h"
#include "bench/harness/comm.h"
#include "bench/harness/progress.h"
#include "bench/harness/sampler.h"
#include "bench/harness/watchdog.h"
#include "core/catalogue.h"
#include "core/inventory.h"
#include "core/result.h"
#include "sys/os/fs_root.h"

namespace cb {

// All that a case may touch.
struct Context {
  Comm& comm;
  const RankMap& place;
  Sampler& sampler;
  Watchdog& watchdog;
  const CancelToken& cancel;
  Progress& progress;
  const FsRoot& fs;
  const HostInventory& inventory;  // of this host
  const CaseInfo* info = nullptr;  // of the case that runs: set by the runner
  // Takes this rank's share of a record, so that it is not lost with the job.
  std::function<void(const Record&)> publisher = {};
  // Takes the shares that all ranks agree on, so that an error that follows does not lose them.
  std::vector<Record>* finished = nullptr;
  // Takes what a user must know at once, while the case still runs; from any rank, not from the
  // results. Nothing in bench writes to stderr itself.
  Log logger = {};
  bool redact = false;  // no value of a setting of this host goes into a record
  // What who() says; empty: by `place` and `comm`. For a part of a job's ranks, which count anew.
  std::string called = {};

  // "node03" or "node03 rank 5": for messages.
  std::string who() const;
  void log(const std::string& text) const {
    if (logger) logger(text);
  }
  // run_points() calls both. Not collective: a rank that is lost later has said what it measured.
  void publish(const Record& record) const {
    if (publisher) publisher(record);
  }
  // Every rank finishes the same records in the same order.
  void finish(const Record& record) const {
    if (finished != nullptr) finished->push_back(record);
  }
};

// Measures and returns this rank's share of the records: its own entities, metrics and checks.
// Every rank returns the same number of records with the same params in the same order; the runner
// gathers and joins them. A case throws Error when it cannot go on, and never judges.
using RunCase = std::function<std::vector<Record>(Context&, const Params&)>;

// One measurement: what is known of it, and how it is run. One file of a domain that ends in
// _case.cpp and one line of registry.cpp.
struct Case {
  CaseInfo info;
  RunCase run;
  // What is wrong with params that are each right by themselves; told before anything is run.
  std::function<void(const Params&, Problems&)> check = {};
  // What this host lacks for it that `needs` does not say, with the reason; empty if nothing. For
  // `list`: changes nothing, and is what run() would give as its reason.
  std::function<Said(const FsRoot&)> lacks = {};
};

}  // namespace cb
