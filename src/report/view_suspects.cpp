// Lists every part that fails and every host that is not measured, by host, so that a reader sees
// at once where to send somebody.
#include <algorithm>
#include <map>
#include <set>

#include "core/units.h"
#include "judge/verdict_hosts.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxSuspects = 120;
constexpr size_t kMaxParts = 10;

// What one criterion says about one host.
struct Suspicion {
  const CriterionVerdict* verdict = nullptr;
  State state = State::fail;
  std::vector<std::string> parts;
  const Finding* worst = nullptr;
  std::vector<Message> missing;
};

using ByHost = std::map<std::string, std::vector<Suspicion>>;

Suspicion& suspicion(ByHost& hosts, const std::string& host, const CriterionVerdict& v,
                     State state) {
  auto& list = hosts[host];
  if (list.empty() || list.back().verdict != &v || list.back().state != state)
    list.push_back({.verdict = &v, .state = state});
  return list.back();
}

// "nic mlx5_3", the name of a pair, or the kind if the entity is a whole host.
std::string part_name(const Entity& e, const Texts& t) {
  if (e.kind == "pair") return entity_name(e);
  const std::string kind = shown_name("kind", e.kind, t);
  return e.id.empty() ? kind : kind + " " + e.id;
}

bool stands_open(State state) {
  return state == State::fail || state == State::warn || state == State::incomplete;
}

ByHost by_host(const Judgement& judgement, const Texts& t) {
  ByHost out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (!stands_open(v.state)) continue;
    // A criterion that only warns stays a warning, even if it is incomplete because of another
    // host.
    const bool warns = v.criterion->severity == Severity::warn;
    for (const Finding& f : v.failing) {
      if (f.waived) continue;
      const State state = warns && !f.wrong_data ? State::warn : State::fail;
      const std::string host = f.entity.host.empty() ? entity_name(f.entity) : f.entity.host;
      Suspicion& s = suspicion(out, host, v, state);
      s.parts.push_back(part_name(f.entity, t));
      if (s.worst == nullptr) s.worst = &f;  // findings come worst first
    }
    for (const Gap& gap : v.gaps) {
      if (!gap.host.empty())
        suspicion(out, gap.host, v, State::incomplete).missing.push_back(gap.what);
    }
  }
  return out;
}

std::string finding_text(const Suspicion& s, const Texts& t) {
  if (s.worst == nullptr) return say_all(t.lang(), s.missing);
  const Finding& f = *s.worst;
  if (!f.detail.empty()) return say_all(t.lang(), f.detail);
  if (!f.value || !f.limit) return t("open.no_reason");
  return t("open.finding", format_value(*f.value, f.unit),
           (f.limit_is_minimum ? "≥ " : "≤ ") + format_value(*f.limit, f.unit));
}

// Merges a host's gaps into one row for all tests that were not measured.
std::vector<Suspicion> merged_gaps(std::vector<Suspicion> list, const Texts& t,
                                   std::string& titles) {
  std::vector<Suspicion> out;
  std::vector<std::string> absent;
  for (Suspicion& s : list) {
    if (s.state != State::incomplete) {
      out.push_back(std::move(s));
      continue;
    }
    absent.push_back(criterion_title(*s.verdict->criterion, t));
    if (absent.size() == 1) out.push_back(std::move(s));
  }
  titles = name_list(absent, 12, t);
  return out;
}

size_t badness_rank(const std::vector<Suspicion>& list) {
  size_t out = 0;
  for (const Suspicion& s : list) out += s.state == State::fail ? 1000 + s.parts.size() : 1;
  return out;
}

bool only_warns(const std::vector<Suspicion>& list) {
  return std::ranges::all_of(list, [](const Suspicion& s) { return s.state == State::warn; });
}

// Counts hosts with warnings only apart: a warning gives nobody anything to mend. A pair, a group
// or the cluster is no host, and is counted apart too.
std::string suspects_caption(
    const std::vector<std::pair<std::string, std::vector<Suspicion>>>& suspects,
    const ReportInput& in) {
  const auto& hosts = in.campaign.hosts;
  const HostNames names(in.campaign);
  size_t blocking = 0, warned = 0, shared = 0;
  for (const auto& [name, list] : suspects) {
    if (!names.asked(name) && std::ranges::find(hosts, name) == hosts.end())
      ++shared;
    else
      ++(only_warns(list) ? warned : blocking);
  }
  std::string out;
  const auto add = [&](std::string_view id, size_t count, auto... all) {
    if (count > 0) out += (out.empty() ? "" : in.t.gap()) + in.t.count(id, count, all...);
  };
  add("suspects.caption", blocking, hosts.size());
  add("suspects.warned", warned, hosts.size());
  add("suspects.shared", shared);
  return out;
}

}  // namespace

void add_suspects(Section& section, const ReportInput& in) {
  const Texts& t = in.t;
  ByHost hosts = by_host(in.judgement, in.t);
  std::vector<std::pair<std::string, std::vector<Suspicion>>> order(hosts.begin(), hosts.end());
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const auto& h) { return badness_rank(h.second); });
  Table table{.caption = suspects_caption(order, in),
              .columns = {{t("col.result")},
                          {t("col.host")},
                          {t("col.parts")},
                          {t("col.test")},
                          {t("col.finding")}}};
  size_t left_out = 0;
  for (auto& [host, list] : order) {
    std::string absent;
    for (const Suspicion& s : merged_gaps(std::move(list), t, absent)) {
      if (table.rows.size() == kMaxSuspects) {
        ++left_out;
        continue;
      }
      table.rows.push_back(
          {s.state,
           {state_cell(s.state, t), host, s.parts.empty() ? "–" : name_list(s.parts, kMaxParts, t),
            s.state == State::incomplete ? absent : criterion_title(*s.verdict->criterion, t),
            finding_text(s, t)}});
    }
  }
  if (table.rows.empty()) return;
  section.blocks.emplace_back(std::move(table));
  if (left_out > 0) section.blocks.emplace_back(Paragraph{t("suspects.left_out", left_out)});
}

}  // namespace cb
