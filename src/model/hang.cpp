#include "model/hang.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

// A rank that progressed this recently is working.
constexpr double kMovingSeconds = 0.5;

bool inside(const RankState& r) { return r.entered > r.left; }
uint64_t position(const RankState& r) { return r.entered + r.left; }

Said where(const RankState& r) {
  const std::string note = r.note.empty() ? "starting" : r.note;
  if (inside(r)) return said("hang.inside", note, r.entered);
  return said("hang.done", note, r.left);
}

std::string name(const RankState& r) { return fmt::format("{} rank {}", r.host, r.rank); }

// Of ranks that failed, which one's connection broke first says nothing.
double lost_for(const RankState* r) { return has_failed(*r) ? 0 : r->lost_seconds; }

// Processes of one host go together, where the host goes; and a rank that had been silent before
// its connection broke, as one without power is, was gone before that.
bool lost_because_of(const RankState& r, const RankState& first) {
  const bool was_silent = r.silent_seconds - r.lost_seconds >= kSilentSeconds;
  return r.link == RankLink::lost && r.lost_seconds < first.lost_seconds && !was_silent &&
         r.host != first.host;
}

// Says why the rank is absent. `first`: the first of those that are.
Said blame(const RankState& r, const RankState& first) {
  if (has_failed(r)) return said("hang.failed", unpack_said(r.failure));
  if (lost_because_of(r, first))
    return said("hang.broke_later", format_seconds(first.lost_seconds - r.lost_seconds), where(r));
  if (r.link == RankLink::lost) return said("hang.broke", where(r));
  if (r.link == RankLink::never) return said("hang.never");
  if (r.silent_seconds >= kSilentSeconds)
    return said("hang.silent", format_seconds(r.silent_seconds), where(r));
  return said("hang.behind", format_seconds(r.idle_seconds), where(r));
}

// Of those that have come to no meeting, if there are any.
double longest_idle(const std::vector<RankState>& ranks) {
  const bool all_met = std::ranges::all_of(ranks, &RankState::met);
  double idle = 0;
  for (const RankState& r : ranks) {
    if (all_met || !r.met) idle = std::max(idle, r.idle_seconds);
  }
  return idle;
}

std::vector<const RankState*> find_absent(const std::vector<RankState>& ranks) {
  uint64_t furthest = 0;
  for (const RankState& r : ranks) {
    if (!r.met) furthest = std::max(furthest, position(r));
  }
  const bool some_met = std::ranges::any_of(ranks, &RankState::met);
  const double idle = longest_idle(ranks);
  // A rank that progressed recently is only slower, even if ranks measure independently.
  const auto stands = [&](const RankState& r) {
    return r.link == RankLink::connected && !r.met && r.idle_seconds >= idle / 2;
  };
  const auto behind = [&](const RankState& r) { return stands(r) && position(r) < furthest; };
  // The surest sign comes first.
  const std::vector<std::function<bool(const RankState&)>> signs{
      has_failed, [](const RankState& r) { return r.link == RankLink::lost; },
      [](const RankState& r) {
        return r.link == RankLink::connected && r.silent_seconds >= kSilentSeconds;
      },
      [&](const RankState& r) { return behind(r) && !inside(r); }, behind,
      // The last that others wait for where they meet has nobody to be behind.
      [&](const RankState& r) { return some_met && stands(r) && !inside(r); },
      [](const RankState& r) { return r.link == RankLink::never; }};
  for (const auto& sign : signs) {
    std::vector<const RankState*> out;
    for (const RankState& r : ranks) {
      if (sign(r)) out.push_back(&r);
    }
    std::ranges::stable_sort(out, std::ranges::greater(), lost_for);
    if (!out.empty() && out.size() < ranks.size()) return out;
  }
  return {};
}

// Ranks in the same state share a line.
std::vector<std::string> describe_others(const std::vector<RankState>& ranks,
                                         const std::set<int>& absent) {
  std::map<Said, std::vector<int>> alike;
  std::map<Said, std::set<std::string>> hosts;
  for (const RankState& r : ranks) {
    if (absent.contains(r.rank)) continue;
    const Said state = r.link == RankLink::closed  ? Said("ended")
                       : r.link == RankLink::never ? Said("state not known: never reached rank 0")
                                                   : where(r);
    alike[state].push_back(r.rank);
    hosts[state].insert(r.host);
  }
  std::vector<std::string> out;
  for (const auto& [state, list] : alike) {
    const std::set<std::string>& on = hosts[state];
    out.push_back(fmt::format(
        "waiting   : rank{} {} on {}: {}", list.size() == 1 ? "" : "s", rank_ranges(list),
        on.size() == 1 ? *on.begin() : fmt::format("{} hosts", on.size()), state.text()));
  }
  return out;
}

}  // namespace

namespace {

HangDiagnosis alone(const RankState& r) {
  const Said why = said("hang.stuck", where(r));
  return {.absent = {{r.rank, r.host, why}},
          .reason = said("said.of", r.host, why),
          .lines = {fmt::format("not moving: {}: {}", r.host, why.text())}};
}

}  // namespace

std::string rank_ranges(const std::vector<int>& ascending) {
  std::string out;
  for (size_t i = 0; i < ascending.size();) {
    size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(ascending[i]);
    if (last > i) out += "-" + std::to_string(ascending[last]);
    i = last + 1;
  }
  return out;
}

std::vector<std::string> hosts_at_fault(const HangDiagnosis& diagnosis) {
  std::vector<std::string> out;
  for (const AbsentRank& r : diagnosis.absent) {
    const bool followed = r.why.message().id == "hang.broke_later";
    if (!followed && std::ranges::find(out, r.host) == out.end()) out.push_back(r.host);
  }
  return out;
}

HangDiagnosis diagnose_hang(const std::vector<RankState>& ranks) {
  if (ranks.size() == 1) return alone(ranks[0]);
  HangDiagnosis out;
  std::set<int> absent;
  std::vector<Said> reasons;
  const std::vector<const RankState*> found = find_absent(ranks);
  for (const RankState* r : found) {
    absent.insert(r->rank);
    out.absent.push_back({r->rank, r->host, blame(*r, *found.front())});
    const Said& why = out.absent.back().why;
    out.lines.push_back(fmt::format("not there : {}: {}", name(*r), why.text()));
    reasons.push_back(said("said.of", name(*r), why));
  }
  out.reason = said_list(reasons);
  if (out.absent.empty())
    out.reason =
        longest_idle(ranks) < kMovingSeconds ? said("hang.all_working") : said("hang.all_equal");
  for (std::string& line : describe_others(ranks, absent)) out.lines.push_back(std::move(line));
  return out;
}

}  // namespace cb
