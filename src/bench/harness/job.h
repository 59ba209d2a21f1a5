#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/harness/case.h"
#include "core/exit_code.h"

// Running one case from its first word to its last: the group of ranks, watchdog, signals, side
// channel, inventories, the document and the exit code. What people see of it is the view's.
namespace cb {

struct CaseJob {
  const Case& what;
  const Params& params;
  std::string json = {};        // where the document goes; empty: nowhere, "-": standard output
  std::string token = {};       // of --return: see bench/harness/document_place.h
  double deadline_seconds = 0;  // of the whole job
  double stall_seconds = 0;     // without progress, while the case runs
  std::string sysroot = "/";    // below which /sys, /proc and /etc are read
  bool redact = false;          // no value of the command line and of the environment is recorded
};

// What a job tells the person who started it.
class JobView {
 public:
  virtual ~JobView() = default;
  // How far the case is. Called once, before the case runs; only rank 0's is shown.
  virtual Progress& progress(bool root) = 0;
  // Whole lines that must be seen at once. From any rank and any thread.
  virtual void say(const std::string& lines) = 0;
  // Rank 0, before the document is written: all that is left of the job if it cannot be.
  virtual void results(const Document& document) = 0;
  // Rank 0, behind the results: what errored, was skipped or interrupted.
  virtual void outcome(const Document& document) = 0;
};

// A group of ranks, and what has to live as long as it does.
struct JobRanks {
  std::shared_ptr<void> session = {};
  std::unique_ptr<Comm> comm;
};

// The processes that a job runs on.
struct JobWorld {
  std::string who;  // this process: "node03 rank 5", or the host alone
  // Joins the other ranks, under the watchdog.
  std::function<JobRanks(Watchdog&)> join;
  // Ends every rank at once, with this exit code. It does not return, but where a test stands in.
  std::function<void(ExitCode)> abort;
};

// This process alone, or as one rank of the job that a launcher started.
JobWorld job_world();
bool launched_job();

// Collective. What rank 0 found decides the exit code of all. Throws what kept a single process
// from measuring.
ExitCode run_job(const CaseJob& job, JobView& view, const JobWorld& world);

// What the records amount to: runtime if one errored, not_accepted if a check failed, incomplete if
// nothing was measured.
ExitCode outcome_code(const std::vector<Record>& records);

}  // namespace cb
