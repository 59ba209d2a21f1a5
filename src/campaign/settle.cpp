// Which jobs are settled: what earlier runs have done stands, and what cannot run says why.
#include "campaign/settle.h"

#include <algorithm>

#include "campaign/command_line.h"
#include "campaign/lost.h"
#include "campaign/rails.h"
#include "campaign/soak_cycles.h"
#include "core/clock.h"
#include "core/exit_code.h"
#include "core/profile_limits.h"
#include "core/profile_soak.h"
#include "judge/applies.h"

namespace cb {
namespace {

class Settler {
 public:
  Settler(RunState& state, JobOutcome& outcome)
      : s_(state), out_(outcome), key_(outcome.key), step_(state.step_of(outcome.key)) {}

  bool settle() {
    const std::vector<HostSlots> hosts = s_.hosts_of(key_);
    if (const auto gone = left_out(hosts)) return leave_out(*gone);
    if (hosts.empty()) return conclude(JobState::missing, said("end.all_left_out"));
    if (!is_asked_for(hosts)) return stand();
    const NeedsFit fit = needs_fit();
    if (fit.fit == Fit::unmet) return conclude(JobState::not_applicable, fit.reason());
    if (const auto why = cannot_launch(s_.setup.campaign.launch, hosts, step_.ranks_per_host))
      return conclude(JobState::missing, *why);
    if (const auto why = rail_problem(hosts)) return conclude(JobState::missing, *why);
    const std::string wanted = fingerprint_on(standing_hosts(hosts));
    const bool reads_last = is_last_reading(s_.profile, key_.cycle);
    if (key_.cycle > 0 && !reads_last && is_over(s_.journal.last(key_.name), wanted))
      return stand();
    if (lost(wanted)) return true;
    const bool kept = keep(wanted);
    if (!kept || once_more(hosts)) {
      const std::optional<Said> few = too_few(hosts);
      return few && (kept || conclude(JobState::missing, *few));
    }
    return !reads_last || !is_outdated_reading(key_.name, s_.profile.soak->cycles(), s_.journal);
  }

 private:
  // Why the host of the job, or too many hosts of its group, are out.
  std::optional<Said> left_out(const std::vector<HostSlots>& hosts) const {
    if (const ExcludedHost* gone = s_.roster.out(key_.host)) return gone->reason;
    if (key_.places.empty() || hosts.size() >= 2) return std::nullopt;
    for (const size_t place : key_.places) {
      if (const ExcludedHost* gone = s_.roster.out(s_.roster.occupants({place}).back()))
        return said("group.too_few", key_.group, gone->reason);
    }
    return std::nullopt;
  }

  // Enough hosts were asked for, but not enough of them take part.
  std::optional<Said> too_few(const std::vector<HostSlots>& hosts) const {
    const auto needed = step_.needs.find("hosts");
    const bool across_all = key_.host.empty() && key_.places.empty();
    if (!across_all || needed == step_.needs.end()) return std::nullopt;
    const auto left = static_cast<int>(hosts.size());
    if (left >= needed->second) return std::nullopt;
    return said("end.too_few_left", needed->second, left, s_.setup.campaign.hosts.size());
  }

  bool is_asked_for(const std::vector<HostSlots>& hosts) const {
    const bool all = key_.host.empty() && key_.places.empty();
    return s_.setup.only.empty() || all || is_named(hosts) || has_spare(hosts);
  }

  // A spare that steps in has measured nothing: it is asked for by whoever asked for its place.
  bool has_spare(const std::vector<HostSlots>& hosts) const {
    const std::vector<HostSlots>& asked = s_.setup.campaign.hosts;
    return std::ranges::any_of(hosts, [&](const HostSlots& h) {
      return std::ranges::find(asked, h.name, &HostSlots::name) == asked.end();
    });
  }

  bool is_named(const std::vector<HostSlots>& hosts) const {
    return std::ranges::any_of(hosts,
                               [&](const HostSlots& h) { return s_.setup.only.contains(h.name); });
  }

  // The job of a host that is out stays as it ended. It says why it has not run, if it has not.
  bool leave_out(const Said& why) {
    const JobEvent* last = s_.journal.last(key_.name);
    if (last == nullptr || !last->ended) return conclude(JobState::missing, why);
    out_.state = last->state;
    out_.reason = last->reason;
    out_.kept = true;
    return true;
  }

  // The job is not to be run now, whatever it is. Returns true.
  bool stand() {
    const JobEvent* last = s_.journal.last(key_.name);
    out_.kept = true;
    if (last == nullptr || !last->ended) return true;
    out_.state = last->state;
    out_.reason = last->reason;
    if (out_.state == JobState::done) out_.document = s_.figures_of(key_.name, last->fingerprint);
    return true;
  }

  // Journals an end without a process. If a resumed run finds the same end again, it writes
  // nothing. Returns true.
  bool conclude(JobState state, const Said& reason) {
    out_.state = state;
    out_.reason = reason;
    const JobEvent* last = s_.journal.last(key_.name);
    if (last != nullptr && last->ended && last->state == state && last->reason == reason)
      return true;
    JobEvent event{.job = key_.name, .ended = true, .at = utc_now()};
    event.attempt = s_.attempts(key_.name);
    event.state = state;
    event.reason = reason;
    s_.note(event);
    return true;
  }

  NeedsFit needs_fit() const {
    const size_t asked = s_.setup.campaign.hosts.size();
    if (key_.host.empty()) return check_needs(step_.needs, asked, s_.all_inventories());
    Requirements parts, hosts;
    for (const auto& need : step_.needs) (counts_hosts(need.first) ? hosts : parts).insert(need);
    const NeedsFit all = check_needs(hosts, asked, {});
    if (all.fit != Fit::met) return all;
    const auto mine = s_.inventories.find(key_.host);
    return check_needs(parts, 1,
                       mine == s_.inventories.end() ? std::vector<HostInventory>()
                                                    : std::vector<HostInventory>{mine->second});
  }

  std::optional<Said> rail_problem(const std::vector<HostSlots>& hosts) const {
    if (!key_.rail) return std::nullopt;
    return find_rail(step_, *key_.rail, rail_hosts(hosts, s_.inventories)).problem;
  }

  std::string fingerprint_on(const std::vector<HostSlots>& hosts) const {
    return step_fingerprint(s_.setup, s_.step_for(key_), hosts, CampaignPaths::record(key_.name));
  }

  // The hosts of a job across several, as it ran: of a done job that had hosts more, which are out
  // now and have no successor, nothing needs to be repeated.
  std::vector<HostSlots> standing_hosts(const std::vector<HostSlots>& active) const {
    const JobEvent* start = key_.host.empty() ? s_.journal.last_start(key_.name) : nullptr;
    if (start == nullptr || s_.roster.excluded().empty()) return active;
    std::vector<HostSlots> ran;
    size_t known = 0;
    for (const std::string& name :
         launched_hosts(start->command, s_.setup.campaign.launch.launcher)) {
      const HostSlots* host = s_.roster.find(name);
      if (host == nullptr || s_.roster.is_replaced(name)) return active;
      known += s_.roster.takes_part(name) ? 1 : 0;
      ran.push_back(*host);
    }
    return known == active.size() ? ran : active;
  }

  // The figures of this job's earlier attempts count. If one is lost that spoke against the
  // machine, no new measurement replaces it.
  bool lost(const std::string& wanted) {
    if (!s_.journal.goes_on(key_.name, wanted)) return false;
    const auto why = lost_for_good(s_.journal.documents(key_.name, wanted), s_.setup.paths.root);
    if (!why) return false;
    out_.state = JobState::failed;
    out_.reason = *why;
    return true;
  }

  // True if an earlier run left a complete record of exactly this job.
  bool keep(const std::string& wanted) {
    const JobEvent* last = s_.journal.last(key_.name);
    if (last == nullptr || !last->ended || last->state != JobState::done) return false;
    if (last->code != static_cast<int>(ExitCode::ok) &&
        last->code != static_cast<int>(ExitCode::not_accepted))
      return false;
    if (last->fingerprint != wanted || last->sha256.empty()) return false;
    out_.document = s_.figures_of(key_.name, wanted);
    if (!out_.document) return false;
    out_.state = JobState::done;
    out_.kept = true;
    return true;
  }

  bool once_more(const std::vector<HostSlots>& hosts) const {
    if (key_.cycle > 0 || s_.tested.contains(key_.name)) return false;  // a soak has other cycles
    const bool across_all = key_.host.empty() && key_.places.empty();
    return (!across_all && is_named(hosts)) || s_.setup.again.contains({step_.id, key_.label()});
  }

  RunState& s_;
  JobOutcome& out_;
  const JobKey& key_;
  const Step& step_;
};

}  // namespace

bool settle(RunState& state, JobOutcome& outcome) { return Settler(state, outcome).settle(); }

std::string wanted_fingerprint(const RunState& state, const JobKey& key) {
  return step_fingerprint(state.setup, state.step_for(key), state.hosts_of(key),
                          CampaignPaths::record(key.name));
}

}  // namespace cb
