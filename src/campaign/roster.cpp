#include "campaign/roster.h"

#include <algorithm>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "core/text.h"

namespace cb {

Roster::Roster(const std::vector<HostSlots>& asked, const std::vector<HostSlots>& spares)
    : places_(names_of(asked)), asked_(places_), spares_(names_of(spares)) {
  for (const auto* list : {&asked, &spares}) {
    for (const HostSlots& h : *list) hosts_.emplace(h.name, h);
  }
  for (const std::string& name : places_) had_.push_back({name});
}

void Roster::take_out(const ExcludedHost& out) {
  at_[out.host] = gone_.size();
  gone_.push_back(out);
  if (out.by.empty()) return;
  const auto place = std::ranges::find(places_, out.host);
  if (place != places_.end()) {
    *place = out.by;
    had_[static_cast<size_t>(place - places_.begin())].push_back(out.by);
  }
  ++stepped_in_;
  at_.erase(out.by);  // it may have gone before, and have come back as a spare
}

void Roster::let_back(const std::string& host) {
  const auto found = at_.find(host);
  if (found == at_.end() || is_waiting(host)) return;
  const size_t index = found->second;
  if (!gone_[index].by.empty()) {
    spares_.push_back(host);
    return;
  }
  gone_.erase(gone_.begin() + static_cast<std::ptrdiff_t>(index));
  at_.erase(found);
  for (auto& [name, i] : at_) i -= i > index ? 1 : 0;
}

std::vector<HostSlots> Roster::active() const {
  std::vector<HostSlots> out;
  for (const std::string& name : places_) {
    if (!at_.contains(name)) out.push_back(hosts_.at(name));
  }
  return out;
}

std::vector<HostSlots> Roster::at(const std::vector<size_t>& places) const {
  std::vector<HostSlots> out;
  for (const size_t place : places) {
    const std::string& name = places_.at(place);
    if (!at_.contains(name)) out.push_back(hosts_.at(name));
  }
  return out;
}

std::vector<HostSlots> Roster::hosts_of(const JobKey& key) const {
  if (!key.places.empty()) return at(key.places);
  if (key.host.empty()) return active();
  const HostSlots* host = find(key.host);
  return host == nullptr ? std::vector<HostSlots>() : std::vector<HostSlots>{*host};
}

std::vector<std::string> Roster::occupants(const std::vector<size_t>& places) const {
  std::vector<std::string> out;
  for (const size_t place : places)
    out.insert(out.end(), had_.at(place).begin(), had_.at(place).end());
  return out;
}

std::vector<HostSlots> Roster::all() const {
  std::vector<HostSlots> out;
  for (const std::string& name : asked_) out.push_back(hosts_.at(name));
  for (size_t i = 0; i < stepped_in_; ++i) {
    if (std::ranges::find(out, spares_[i], &HostSlots::name) == out.end())
      out.push_back(hosts_.at(spares_[i]));
  }
  return out;
}

bool Roster::takes_part(const std::string& host) const {
  return !at_.contains(host) && std::ranges::find(places_, host) != places_.end();
}

const ExcludedHost* Roster::out(const std::string& host) const {
  const auto found = at_.find(host);
  return found == at_.end() ? nullptr : &gone_[found->second];
}

bool Roster::is_replaced(const std::string& host) const {
  const ExcludedHost* gone = out(host);
  return gone != nullptr && !gone->by.empty();
}

bool Roster::is_waiting(const std::string& host) const {
  const auto next = spares_.begin() + static_cast<std::ptrdiff_t>(stepped_in_);
  return std::find(next, spares_.end(), host) != spares_.end();
}

std::vector<ExcludedHost> Roster::excluded() const { return gone_; }

std::optional<std::string> Roster::next_spare() const {
  return stepped_in_ < spares_.size() ? std::optional(spares_[stepped_in_]) : std::nullopt;
}

std::optional<std::string> Roster::spare_for(const std::string& host) const {
  const auto spare = next_spare();
  const HostSlots* gone = find(host);
  if (!spare || gone == nullptr || hosts_.at(*spare).slots != gone->slots) return std::nullopt;
  return spare;
}

const HostSlots* Roster::find(const std::string& host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

namespace {

// True if the journal has an attempt that gives a reason to take a host out: it did not end as
// done, or its document holds bad news. So nobody is taken out whose figures only miss a limit.
bool shows_trouble(const Journal& journal, const ExcludedHost& out) {
  const auto events = journal.jobs.find(out.job);
  if (events == journal.jobs.end()) return false;
  bool trouble = false;
  for (const JobEvent& e : events->second) {
    if (e.attempt != out.attempt) continue;
    if (!e.ended) trouble = true;  // killed, unless an end follows
    if (e.ended) trouble = e.state != JobState::done || e.bad.any();
  }
  return trouble;
}

}  // namespace

std::optional<Said> cannot_go(const Roster& roster, const Journal& journal,
                              const ExcludedHost& out) {
  const std::string name = terminal_safe(out.host);
  if (!roster.takes_part(out.host)) return said("out.no_part", name);
  if (!out.by.empty() && roster.spare_for(out.host) != out.by)
    return said("out.no_spare", terminal_safe(out.by), name);
  if (!shows_trouble(journal, out)) return said("out.no_trouble", name, terminal_safe(out.job));
  return std::nullopt;
}

Roster read_roster(const CampaignFile& file, const Journal& journal, std::vector<Said>& warnings) {
  Roster roster(file.hosts, file.spares);
  for (const RosterEvent& event : journal.roster) {
    if (event.back) {
      roster.let_back(event.out.host);
    } else if (auto why = cannot_go(roster, journal, event.out)) {
      warnings.push_back(std::move(*why));
    } else {
      roster.take_out(event.out);
    }
  }
  return roster;
}

Roster read_roster(const CampaignFile& file, const Journal& journal) {
  std::vector<Said> ignored;
  return read_roster(file, journal, ignored);
}

std::vector<JobKey> campaign_jobs(const CampaignFile& file, const Roster& roster) {
  return plan_jobs(file.profile, names_of(roster.all()), !file.spares.empty(), roster.places());
}

std::vector<std::string> names_of(const std::vector<HostSlots>& hosts) {
  std::vector<std::string> out;
  out.reserve(hosts.size());
  for (const HostSlots& h : hosts) out.push_back(h.name);
  return out;
}

}  // namespace cb
