// How far a campaign is, from its journal and the documents that there are. Reads only: safe beside
// a run that works in the directory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"

namespace cb {

struct RunningJob {
  std::string host;  // or the name of a pair, a group or a rail; empty: across all hosts
  std::string started;
  double seconds = 0;  // since then
};

// A step; of a soak's step all cycles together.
struct StepProgress {
  std::string id;
  size_t jobs = 0, done = 0, bad = 0, not_applicable = 0;
  std::vector<RunningJob> running;
  double rounds_seconds = 0;  // of the rounds that have ended
  size_t rounds = 0, rounds_ended = 0;
  size_t jobs_seen = 0;  // that have started or ended in some way
  std::string headline;  // the worst figure so far
  std::string last_problem;
};

struct CampaignProgress {
  std::string id, profile, started, last_event;
  std::string finished;  // empty until every step has ended
  size_t hosts = 0;
  size_t cycle = 0, cycles = 0;  // of a soak: the one that runs or ran last; 0: none has begun
  std::vector<StepProgress> steps;
  size_t interruptions = 0;  // jobs that ended badly
  double elapsed_seconds = 0;
  // Until the end: what is left of each round, at the mean length of that step's rounds. Steps that
  // have not ended a round are counted in `unknown` instead.
  double left_seconds = 0;
  size_t unknown = 0;
  std::vector<Said> warnings = {};  // about a journal that no run has left so
};

// `now`: seconds since 1970. Does not read documents.
CampaignProgress progress_of(const CampaignFile& file, const Journal& journal, int64_t now);

// Reads the directory, and of each step at most `documents` of its newest documents for the
// headline, also what a running job has left of one. Throws UsageError if it is no campaign.
CampaignProgress read_progress(const CampaignPaths& paths, int64_t now, size_t documents = 64);

// For the textfile collector of Prometheus' node exporter. `running` is absent if nobody can tell.
std::string progress_metrics(const CampaignProgress& progress, std::optional<bool> running,
                             int64_t now);

}  // namespace cb
