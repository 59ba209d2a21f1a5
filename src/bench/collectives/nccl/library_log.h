#pragma once

#include <optional>
#include <vector>

#include "bench/collectives/nccl/environment.h"
#include "bench/harness/case.h"
#include "core/result.h"
#include "model/nccl_paths.h"
#include "model/nccl_tuning.h"
#include "sys/os/temporary_file.h"

namespace cb::nccl {

// What the library is asked to log.
struct LogWants {
  bool algorithms = false;  // its choice at every call, which costs small sizes some time
  bool paths = false;       // its connections, when they are made
  bool any() const { return algorithms || paths; }
};

// The log of this process's library. Make it and apply its environment before the library is
// opened.
class LibraryLog {
 public:
  explicit LibraryLog(const LogWants& wants) : wants_(wants), file_("nccl-log") {}

  const LogWants& wants() const { return wants_; }
  Environment environment() const { return log_environment(file_.path(), wants_); }

  // Reads what was logged since the last time.
  void read();
  // The choices that the last read() found: those of rank 0 of a communicator only.
  const std::vector<TuningChoice>& choices() const { return choices_; }
  // All connections so far.
  const NcclPaths& paths() const { return paths_; }

 private:
  static Environment log_environment(const std::string& file, const LogWants& wants);
  LogWants wants_;
  TemporaryFile file_;
  std::vector<TuningChoice> choices_;
  NcclPaths paths_;
};

// The metrics that describe_paths() and describe_choices() add.
std::vector<MetricDef> log_metrics();

// Collective. Adds this rank's connections by kind, and on rank 0 the fact of all ranks' paths. A
// rank of which the log names no connection adds no number, and a note.
void describe_paths(Record& record, Context& context, const LibraryLog& log, bool measured);

// Adds the fact of the choices, and to the group's entity which share of them reduces or multiplies
// in switches, and which in those of the network: CollNet, and over `hosts` hosts or NVLink domains
// NVLS too. Nothing without a choice.
void describe_choices(Record& record, const std::vector<TuningChoice>& choices,
                      const std::optional<Entity>& group, uint64_t hosts);

}  // namespace cb::nccl
