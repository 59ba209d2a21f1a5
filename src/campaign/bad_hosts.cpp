#include "campaign/bad_hosts.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "campaign/blame.h"
#include "campaign/roll_call.h"
#include "core/clock.h"

namespace cb {
namespace {

// What speaks against the host: the job's reason, or the first thing that its document found.
Said failure_of(const JobOutcome& o) {
  if (!o.reason.empty() || !o.document) return o.reason;
  for (const Record& record : o.document->records) {
    if (const auto* e = std::get_if<Errored>(&record.outcome))
      return said("said.of", e->where, e->what);
    for (const Check& check : record.checks) {
      if (!check.passed) return said("out.check", check.name, check.detail);
    }
  }
  return o.reason;
}

}  // namespace

void BadHosts::learn_names(const std::vector<JobOutcome>& outcomes) {
  for (const JobOutcome& o : outcomes) {
    if (!o.key.host.empty() && o.document && o.document->run.hosts.size() == 1)
      asked_as_[o.document->run.hosts.front()] = o.key.host;
  }
}

ExcludedHost BadHosts::out_of(const Step& step, const JobOutcome& outcome, const std::string& host,
                              const Said& reason) const {
  return {.host = host,
          .step = step.id,
          .job = outcome.key.name,
          .attempt = attempts_(outcome.key.name),
          .at = utc_now(),
          .reason = reason};
}

std::filesystem::path BadHosts::partial_of(const JobKey& key) const {
  return setup_.paths.root /
         (CampaignPaths::record(key.name) + fmt::format(".{}.partial", attempts_(key.name)));
}

std::vector<ExcludedHost> BadHosts::of_single_hosts(const Step& step,
                                                    const std::vector<JobOutcome>& outcomes,
                                                    bool first) {
  const Exclude exclude = setup_.campaign.exclude;
  std::set<std::string> silent;
  for (std::string& host : do_not_answer(outcomes)) silent.insert(std::move(host));
  if (exclude == Exclude::never && !first) return {};
  std::vector<ExcludedHost> gone, bad;  // those that do not answer, and the others
  for (const JobOutcome& o : outcomes) {
    if (!roster_.takes_part(o.key.host)) continue;
    const bool unseen = first && attempts_(o.key.name) > 0 && o.state != JobState::done &&
                        o.state != JobState::not_applicable;
    const bool failing =
        exclude == Exclude::failing && has_failed(o.state, o.document ? &*o.document : nullptr);
    if (silent.contains(o.key.host) && !first)
      gone.push_back(out_of(step, o, o.key.host, said("out.silent", step.id, o.reason)));
    else if (unseen || failing)
      bad.push_back(out_of(step, o, o.key.host, said("end.left_out", step.id, failure_of(o))));
  }
  const size_t all = roster_.active().size();
  // Where nobody passes the first look, the cause is no host's, and no spare is to be spent on it.
  if (gone.size() + bad.size() == all && (!first || roster_.next_spare())) return {};
  if (!first && !bad.empty() && too_many_to_blame(bad.size(), all - gone.size())) bad.clear();
  std::ranges::move(bad, std::back_inserter(gone));
  return gone;
}

// Calls the hosts whose job left no document or ran past its deadline. Of the others nothing needs
// to be asked.
std::vector<std::string> BadHosts::do_not_answer(const std::vector<JobOutcome>& outcomes) const {
  std::vector<RollCall> calls;
  for (const JobOutcome& o : outcomes) {
    const bool gone = o.state == JobState::deadline || (o.state == JobState::failed && !o.document);
    if (!gone || o.kept || !roster_.takes_part(o.key.host)) continue;
    calls.push_back({*roster_.find(o.key.host), partial_of(o.key)});
  }
  return roster_.active().size() == 1 ? std::vector<std::string>() : silent_hosts(setup_, calls);
}

std::vector<ExcludedHost> BadHosts::silent_after(const Step& step, const JobOutcome& outcome,
                                                 const std::vector<HostSlots>& hosts) const {
  std::vector<RollCall> calls;
  for (const HostSlots& h : hosts) calls.push_back({h, partial_of(outcome.key)});
  const std::vector<std::string> silent = silent_hosts(setup_, calls);
  std::vector<ExcludedHost> out;
  if (silent.size() == hosts.size()) return out;
  for (const std::string& host : silent)
    out.push_back(out_of(step, outcome, host, said("out.silent", step.id, outcome.reason)));
  return out;
}

std::vector<ExcludedHost> BadHosts::suspected(const Step& step, const JobOutcome& outcome,
                                              const std::vector<HostSlots>& hosts) const {
  std::vector<ExcludedHost> out;
  const bool is_pair = outcome.key.places.size() == 2;
  if (!outcome.document || is_pair) return out;
  for (const std::string& named : suspects_of(outcome.document->run)) {
    const auto asked = asked_as_.find(named);
    const std::string& host = asked == asked_as_.end() ? named : asked->second;
    if (roster_.takes_part(host))
      out.push_back(out_of(step, outcome, host, said("out.suspect", step.id, outcome.reason)));
  }
  return too_many_to_blame(out.size(), hosts.size()) ? std::vector<ExcludedHost>() : out;
}

}  // namespace cb
