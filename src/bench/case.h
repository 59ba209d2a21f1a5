#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cancel.h"
#include "bench/comm.h"
#include "bench/progress.h"
#include "bench/sampler.h"
#include "bench/watchdog.h"
#include "core/catalogue.h"
#include "core/inventory.h"
#include "core/result.h"
#include "sys/fs_root.h"

namespace cb {

// All that a case may touch.
struct Context {
  Comm& comm;
  const Place& place;
  Sampler& sampler;
  Watchdog& watchdog;
  const CancelToken& cancel;
  Progress& progress;
  const FsRoot& fs;
  const HostInventory& inventory;  // of this host
  // Takes this rank's share of a record that is finished, so that it is not lost with the job.
  std::function<void(const Record&)> publisher = {};

  // "node03" or "node03 rank 5": for messages.
  std::string who() const;
  // Every rank publishes the same records in the same order, or none.
  void publish(const Record& record) const {
    if (publisher) publisher(record);
  }
};

// Measures and returns this rank's share of the records: its own entities, metrics and checks.
// Every rank returns the same number of records with the same params in the same order; the runner
// gathers and joins them. A case throws Error when it cannot go on, and never judges.
using RunCase = std::function<std::vector<Record>(Context&, const Params&)>;

// One measurement: what is known of it, and how it is run. One file of src/bench/cases/ and one
// line of registry.cpp.
struct Case {
  CaseInfo info;
  RunCase run;
  // What is wrong with params that are each right by themselves; told before anything is run.
  std::function<void(const Params&, Problems&)> check = {};
};

}  // namespace cb
