// What a run of a campaign knows and shares between its parts: run.cpp decides what comes next,
// settle.cpp which jobs need running, run_jobs.cpp starts them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "campaign/journal.h"
#include "campaign/roster.h"
#include "campaign/run.h"

namespace cb {

struct RunState {
  RunState(const RunSetup& setup, const RunObserver& observer);

  bool stopped() const { return setup.executor.stop_signals() > 0; }
  const Step& step_of(const JobKey& key) const { return profile.steps[key.step]; }

  std::vector<HostSlots> hosts_of(const JobKey& key) const { return roster.hosts_of(key); }
  // The step as the job runs it: with the names of its rail, if it has one.
  Step step_for(const JobKey& key) const;
  // Number of the job's last attempt; 0: none.
  int attempts(const std::string& job) const;
  // The joined figures of the attempts that measured what `fingerprint` says.
  std::optional<Document> figures_of(const std::string& job, const std::string& fingerprint) const;
  // What the hosts have, of those that have said it.
  std::vector<HostInventory> all_inventories() const;
  // Writes the event to the journal, and to what this run knows of it.
  void note(JobEvent event);

  const RunSetup& setup;
  const RunObserver& observer;
  const Profile& profile;
  Roster roster;
  ChainRoot root;
  Journal journal;  // as earlier runs left it, and what this one has added
  JournalWriter writer;
  std::map<std::string, HostInventory> inventories;  // by the names that the hosts were asked for
  std::set<std::string> tested;                      // jobs that this run has started
};

}  // namespace cb
