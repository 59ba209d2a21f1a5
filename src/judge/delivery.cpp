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

// Moves the replaced host aside. `again`: it came back and took another place, so it is delivered,
// and all that was ever found of it counts.
void replace(Campaign& campaign, ExcludedHost& out, const std::map<std::string, std::string>& own,
             bool again) {
  const auto name_of = [&](const std::string& host) {
    const auto found = own.find(host);
    return found == own.end() ? host : found->second;
  };
  if (own.contains(out.host) && own.contains(out.by) && name_of(out.host) == name_of(out.by))
    campaign.warnings.push_back(said("out.same_machine", out.by, out.host));
  if (again) return;
  const std::set<std::string> names{out.host, name_of(out.host)};
  for (Job& job : campaign.jobs) {
    if (job.host.empty() && job.document) split_off(job, names, out);
  }
  std::erase_if(campaign.jobs, [&](const Job& job) { return job.host == out.host; });
  std::erase_if(campaign.proofs, [&](const Proof& proof) { return proof.host == out.host; });
  std::erase_if(campaign.inventories,
                [&](const HostInventory& i) { return names.contains(i.host); });
}

}  // namespace

void apply_delivery(Campaign& campaign) {
  for (ExcludedHost& out : campaign.excluded) note_found_of_host(campaign, out);
  if (!may_replace(campaign, campaign.profile)) return;
  const std::map<std::string, std::string> own = own_names(campaign);
  for (const ExcludedHost& out : campaign.excluded) {
    if (!out.by.empty()) std::ranges::replace(campaign.hosts, out.host, out.by);
  }
  for (ExcludedHost& out : campaign.excluded) {
    const bool again = std::ranges::find(campaign.hosts, out.host) != campaign.hosts.end();
    if (!out.by.empty()) replace(campaign, out, own, again);
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

Message delivery_message(const Campaign& campaign) {
  return {"delivery.pass", {campaign.hosts.size(), replaced_in(campaign)}};
}

}  // namespace cb
