#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "campaign/roster.h"
#include "campaign/run.h"

namespace cb {

// Finds the hosts that a step speaks against. It calls hosts, so that they have the last word, and
// ends what a job left behind on them. Changes nothing itself.
class BadHosts {
 public:
  // `attempts`: the number of the job's last attempt.
  BadHosts(const RunSetup& setup, const Roster& roster,
           std::function<int(const std::string& job)> attempts)
      : setup_(setup), roster_(roster), attempts_(std::move(attempts)) {}

  // What hosts call themselves, from the documents of their own jobs.
  void learn_names(const std::vector<JobOutcome>& outcomes);

  // After a step of scope `host`. `first`: the step that looks at the hosts for the first time; a
  // host that fails it is always bad, since nothing is known of it. Nobody, if it would be
  // everybody or if more than half fail while they answer.
  std::vector<ExcludedHost> of_single_hosts(const Step& step,
                                            const std::vector<JobOutcome>& outcomes, bool first);
  // After a job across several hosts that did not get done: those of `hosts` that do not answer,
  // unless none does.
  std::vector<ExcludedHost> silent_after(const Step& step, const JobOutcome& outcome,
                                         const std::vector<HostSlots>& hosts) const;
  // Those whom the watchdogs of that job named last, unless they are more than half. Nobody of a
  // pair: each of two may be the one that waits.
  std::vector<ExcludedHost> suspected(const Step& step, const JobOutcome& outcome,
                                      const std::vector<HostSlots>& hosts) const;

 private:
  ExcludedHost out_of(const Step& step, const JobOutcome& outcome, const std::string& host,
                      const Said& reason) const;
  std::vector<std::string> do_not_answer(const std::vector<JobOutcome>& outcomes) const;
  std::filesystem::path partial_of(const JobKey& key) const;

  const RunSetup& setup_;
  const Roster& roster_;
  std::function<int(const std::string&)> attempts_;
  std::map<std::string, std::string> asked_as_;  // what a host calls itself → as it was asked for
};

}  // namespace cb
