#include "judge/delivery.h"

#include <algorithm>
#include <map>
#include <set>

#include "judge/verdict_gaps.h"

namespace cb {
namespace {

size_t replaced_in(const Campaign& campaign) {
  return static_cast<size_t>(std::ranges::count_if(
      campaign.excluded, [](const ExcludedHost& e) { return !e.by.empty(); }));
}

bool may_replace(const Campaign& campaign, const Profile& profile) {
  return profile.delivery &&
         replaced_in(campaign) <= static_cast<size_t>(profile.delivery->replaced_at_most);
}

// What each host calls itself, by the name that it was asked for.
std::map<std::string, std::string> own_names(const Campaign& campaign) {
  std::map<std::string, std::string> out;
  for (const Job& job : campaign.jobs) {
    if (!job.host.empty() && job.document && job.document->run.hosts.size() == 1)
      out.emplace(job.host, job.document->run.hosts.front());
  }
  return out;
}

// "node3", "node3 rank 5" and "node3:gpu2" are about node3.
bool is_about(const std::string& where, const std::set<std::string>& hosts) {
  return hosts.contains(where.substr(0, where.find_first_of(" :")));
}

void note_found(const Record& record, const Said& job, ExcludedHost& out) {
  for (const Check& check : record.checks) {
    if (check.passed || check.entity >= record.entities.size()) continue;
    const Entity& entity = record.entities[check.entity];
    out.found.push_back(said("said.of", job, Said(failed_check_message(entity, check))));
  }
  if (const auto* e = std::get_if<Errored>(&record.outcome))
    out.found.push_back(said("said.of", job, said("said.of", e->where, e->what)));
}

// Takes out of a step across all hosts what speaks of the gone host alone. What names another host,
// or the cluster, stays: nobody can tell that it was the gone one's.
void split_off(Job& job, const std::set<std::string>& names, ExcludedHost& out) {
  for (Record& record : job.document->records) {
    Record gone{.case_name = record.case_name, .entities = record.entities};
    std::erase_if(record.checks, [&](const Check& check) {
      const Entity& entity = record.entities.at(check.entity);
      if (check.passed || entity.peer || !names.contains(entity.host)) return false;
      gone.checks.push_back(check);
      return true;
    });
    note_found(gone, job.step, out);
  }
  std::erase_if(job.document->records, [&](const Record& record) {
    const auto* e = std::get_if<Errored>(&record.outcome);
    const bool is_its_own = e != nullptr && is_about(e->where, names);
    if (is_its_own) note_found(record, job.step, out);
    return is_its_own;
  });
}

void note_found_of_host(const Campaign& campaign, ExcludedHost& out) {
  for (const Job& job : campaign.jobs) {
    if (job.host != out.host || !job.document) continue;
    for (const Record& record : job.document->records) note_found(record, job.step, out);
  }
}

bool is_delivered(const Campaign& campaign, const std::string& host) {
  return std::ranges::find(campaign.hosts, host) != campaign.hosts.end();
}

// A spare under the name of another host that is out is that host, however many spares came and
// went between them.
void refuse_same_machines(Campaign& campaign, const std::map<std::string, std::string>& own) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const ExcludedHost& spare : campaign.excluded) {
    const auto name = own.find(spare.by);
    if (name == own.end()) continue;
    for (const ExcludedHost& gone : campaign.excluded) {
      const auto other = own.find(gone.host);
      if (other == own.end() || gone.host == spare.by || other->second != name->second) continue;
      if (seen.emplace(spare.by, gone.host).second)
        campaign.warnings.push_back(said("out.same_machine", spare.by, gone.host));
    }
  }
}

// Keeps a soak's job that was interrupted on the host, as a spare takes back nothing of that. What
// the job measured goes with the host. Returns false if there is nothing to keep.
bool keep_interruption(Job& job) {
  const auto last =
      std::ranges::find_if(job.interruptions.rbegin(), job.interruptions.rend(),
                           [](const Interruption& i) { return i.state != JobState::missing; });
  if (job.cycle == 0 || last == job.interruptions.rend()) return false;
  if (job.state == JobState::missing) job.state = last->state;
  job.document.reset();
  job.attempts.clear();
  return true;
}

// Moves the replaced host aside.
void replace(Campaign& campaign, ExcludedHost& out, const std::map<std::string, std::string>& own) {
  const auto own_name = own.find(out.host);
  // Where its own name is known, the name that it was asked for by may be another host's own.
  const std::set<std::string> names{own_name == own.end() ? out.host : own_name->second};
  for (Job& job : campaign.jobs) {
    if (job.host.empty() && job.document) split_off(job, names, out);
  }
  std::vector<Job> kept;
  for (Job& job : campaign.jobs) {
    if (job.host != out.host || keep_interruption(job)) kept.push_back(std::move(job));
  }
  campaign.jobs = std::move(kept);
  std::erase_if(campaign.proofs, [&](const Proof& proof) { return proof.host == out.host; });
  std::erase_if(campaign.inventories,
                [&](const HostInventory& i) { return names.contains(i.host); });
}

}  // namespace

void apply_delivery(Campaign& campaign) { apply_delivery(campaign, campaign.profile); }

void apply_delivery(Campaign& campaign, const Profile& profile) {
  for (ExcludedHost& out : campaign.excluded) {
    if (out.found.empty()) note_found_of_host(campaign, out);
  }
  if (!may_replace(campaign, profile)) return;
  const std::map<std::string, std::string> own = own_names(campaign);
  for (const ExcludedHost& out : campaign.excluded) {
    if (!out.by.empty()) std::ranges::replace(campaign.hosts, out.host, out.by);
  }
  refuse_same_machines(campaign, own);
  // One that came back and took another place is delivered, and all that was ever found of it
  // counts.
  for (ExcludedHost& out : campaign.excluded) {
    if (!out.by.empty() && !is_delivered(campaign, out.host)) replace(campaign, out, own);
  }
}

bool needs_delivery(const Campaign& campaign, const Profile& profile) {
  return profile.delivery || !campaign.excluded.empty();
}

Criterion delivery_criterion(const Profile& profile) {
  Criterion out{.id = "delivery:hosts", .step = "delivery", .domain = "host"};
  out.title = {say(Lang::en, Message("delivery.title")), say(Lang::zh, Message("delivery.title"))};
  out.rule = DeliveryRule{};
  if (profile.delivery) {
    out.why = profile.delivery->why;
    out.source = profile.delivery->source;
    return out;
  }
  out.why = {say(Lang::en, Message("delivery.why")), say(Lang::zh, Message("delivery.why"))};
  out.source = {
      "practice",
      {say(Lang::en, Message("delivery.source")), say(Lang::zh, Message("delivery.source"))},
      "2026-11"};
  return out;
}

Evidence delivery_evidence(const Campaign& campaign, const Profile& profile) {
  Evidence out;
  const size_t replaced = replaced_in(campaign);
  for (const ExcludedHost& e : campaign.excluded) {
    if (e.by.empty())
      out.gaps.push_back({e.host, {"gap.excluded", {e.host, e.reason}}});
    else if (!profile.delivery)
      out.gaps.push_back({e.host, {"gap.replaced", {e.host, e.by, e.reason}}});
  }
  if (!profile.delivery) return out;
  const Delivery& contract = *profile.delivery;
  if (replaced > static_cast<size_t>(contract.replaced_at_most))
    out.gaps.push_back({"", {"gap.replaced_more", {replaced, contract.replaced_at_most}}});
  if (campaign.hosts.size() != static_cast<size_t>(contract.hosts))
    out.gaps.push_back({"", {"gap.delivered", {contract.hosts, campaign.hosts.size()}}});
  Finding f{.entity = {"", "cluster", ""}, .unit = "count"};
  f.value = static_cast<double>(replaced);
  f.limit = contract.replaced_at_most;
  f.limit_is_minimum = false;
  out.findings.push_back(std::move(f));
  return out;
}

std::vector<Message> delivery_messages(const Campaign& campaign) {
  constexpr size_t kNamed = 8;
  std::vector<Message> out{{"delivery.pass", {campaign.hosts.size(), replaced_in(campaign)}}};
  for (const ExcludedHost& e : campaign.excluded) {
    if (e.by.empty() || out.size() > kNamed) continue;
    const Arg found = e.found.empty() ? Arg("") : Arg(Message("delivery.found", {e.found.front()}));
    out.push_back({"delivery.replaced", {e.host, e.by, e.reason, found}});
  }
  return out;
}

}  // namespace cb
