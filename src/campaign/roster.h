#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/hosts.h"
#include "campaign/plan.h"
#include "judge/campaign_data.h"

namespace cb {

struct CampaignFile;
struct Journal;

// The hosts that take part in a campaign: those asked for, less those that were taken out, with
// spares in their places. Pure; docs/design/decisions/0104-a-bad-host-costs-itself.md.
class Roster {
 public:
  Roster(const std::vector<HostSlots>& asked, const std::vector<HostSlots>& spares);

  // The host leaves. If `out.by` names a spare, that takes its place.
  void take_out(const ExcludedHost& out);
  // The host comes back to its place. If a spare has that, it becomes the last of the spares; that
  // it was replaced stays true.
  void let_back(const std::string& host);

  // The hosts that take part now, in the order of places.
  std::vector<HostSlots> active() const;
  // Those of them that have these places.
  std::vector<HostSlots> at(const std::vector<size_t>& places) const;
  // The hosts that a job would run on now.
  std::vector<HostSlots> hosts_of(const JobKey& key) const;
  // Every host that has or had one of these places.
  std::vector<std::string> occupants(const std::vector<size_t>& places) const;
  // Every host that takes or took part: those asked for, then spares in their order.
  std::vector<HostSlots> all() const;
  size_t places() const { return places_.size(); }
  bool takes_part(const std::string& host) const;
  // Why the host is out; null if it takes part, or never did.
  const ExcludedHost* out(const std::string& host) const;
  bool is_replaced(const std::string& host) const;
  bool is_waiting(const std::string& host) const;  // as a spare that has not stepped in
  // The hosts that went, in their order: those that are out, and those that were replaced.
  std::vector<ExcludedHost> excluded() const;
  // The spare that is next to step in; nothing if none is left. A spare is used once.
  std::optional<std::string> next_spare() const;
  // The same for this host: nothing if the next one has another number of slots, as with it a step
  // would not be the same test.
  std::optional<std::string> spare_for(const std::string& host) const;
  const HostSlots* find(const std::string& host) const;  // null if it is none of ours

 private:
  std::map<std::string, HostSlots> hosts_;     // asked for and spares
  std::vector<std::string> places_;            // who has each place, even if it is out
  std::vector<std::vector<std::string>> had_;  // who has and had each place, in their order
  std::vector<std::string> asked_, spares_;
  size_t stepped_in_ = 0;             // number of spares used, from the first on
  std::vector<ExcludedHost> gone_;    // in the order in which they went
  std::map<std::string, size_t> at_;  // host → index in gone_
};

// Why the host cannot be taken out like this: it does not take part, a spare is out of turn, or no
// attempt of the host shows a reason. What run writes must be what a reader takes.
std::optional<Said> cannot_go(const Roster& roster, const Journal& journal,
                              const ExcludedHost& out);

// As the journal leaves it. Events that cannot be are skipped, each with a warning: a host that
// does not take part, a spare out of turn, or a reason that no attempt of the host shows.
Roster read_roster(const CampaignFile& file, const Journal& journal, std::vector<Said>& warnings);
Roster read_roster(const CampaignFile& file, const Journal& journal);

std::vector<std::string> names_of(const std::vector<HostSlots>& hosts);

// The jobs of everybody who takes or took part: plan_jobs().
std::vector<JobKey> campaign_jobs(const CampaignFile& file, const Roster& roster);

}  // namespace cb
