// Drills in a campaign: each is a job that no plan has, journaled and kept as the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/run.h"
#include "core/exit_code.h"

namespace cb {

// The name of the drill's job, "drill-cut-link@node3". Planned jobs begin with a number.
std::string drill_job(const std::string& drill, const std::string& host);

// Writes what drills do into the campaign's journal. While it lives no run works in the directory.
class DrillJournal {
 public:
  // Writes nothing. Throws UsageError if a run works in the directory.
  explicit DrillJournal(const RunSetup& setup);

  const Roster& roster() const { return roster_; }
  // Where this attempt may write logs; nothing there is evidence.
  std::filesystem::path directory(const JobEvent& attempt) const;

  // Notes that the next attempt begins, before anything is changed on the host.
  JobEvent begin(const std::string& drill, const std::string& host);
  // Keeps its document and notes the end.
  void end(JobEvent attempt, const Document& document);
  // Notes that there is none, and why. A criterion on the drill is left open by it: until it is
  // made again, or for good where somebody stopped it (`interrupted`).
  void end(JobEvent attempt, const Said& reason, ExitCode code = ExitCode::runtime);
  // Closes a campaign that was closed before: its manifest is of all files again.
  void close();

 private:
  void note(const JobEvent& event);

  const RunSetup& setup_;
  CampaignLock lock_;
  Journal journal_;
  Roster roster_;
  JournalWriter writer_;
  bool opened_ = false;  // a session line is written
};

// Names of the drills' jobs in the journal.
std::vector<std::string> drill_jobs(const Journal& journal);

// A job for each time that a drill left a document or was stopped, and one for the last time. A
// document that is gone, changed or of something else makes its job fail. Adds the digest of every
// file that the journal knows.
std::vector<Job> load_drills(const CampaignPaths& paths, const CampaignFile& file,
                             const Journal& journal, std::map<std::string, std::string>& digests);

}  // namespace cb
