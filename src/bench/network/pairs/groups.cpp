#include "bench/network/pairs/groups.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/network/pairs/findings.h"

namespace cb {
namespace {

constexpr int kFewestToCompare = 3;
// Rounds of pairs in a group; repeated until a rank has sent about so many times.
constexpr int kGroupRounds = 4;
constexpr size_t kSamplesPerRank = 9;

// Ranks on every host, 0 where the hosts have different numbers.
int ranks_each(const Place& place) {
  std::vector<int> count(place.hosts.size(), 0);
  for (const int host : place.host_of_rank) ++count[static_cast<size_t>(host)];
  const bool equal = std::all_of(count.begin(), count.end(), [&](int c) { return c == count[0]; });
  return equal ? count[0] : 0;
}

std::vector<int> places_on_hosts(const Place& place) {
  std::vector<int> seen(place.hosts.size(), 0), out;
  for (const int host : place.host_of_rank) out.push_back(seen[static_cast<size_t>(host)]++);
  return out;
}

std::string too_few(int count, const char* what) {
  return count >= kFewestToCompare ? ""
                                   : fmt::format("needs {} {} to tell which one is slow, has {}",
                                                 kFewestToCompare, what, count);
}

std::vector<Round> rounds_within(const UnitGroups& groups, uint64_t seed) {
  const std::vector<Round> once =
      both_directions(local_rounds(groups.group_of, kGroupRounds, seed));
  std::vector<Round> out;
  // Half of the rounds are the other direction.
  while (!once.empty() && out.size() < 2 * kSamplesPerRank)
    out.insert(out.end(), once.begin(), once.end());
  return out;
}

std::string group_figures(const Suspect& s) {
  return fmt::format("{} of {} samples low, confidence {:.2f} %", s.low, s.samples,
                     s.confidence * 100);
}

class GroupRecord {
 public:
  GroupRecord(Record& record, const Place& place, const RankGroups& ranks)
      : record_(record),
        place_(place),
        ranks_(ranks),
        rail_(ranks.groups.kind == SuspectKind::rail) {}

  void add_metrics(const std::vector<PairReading>& readings) {
    std::map<int, Samples> samples;
    for (const PairReading& r : readings) {
      if (r.value) samples[group_of(r.from)].add(*r.value);
    }
    for (auto& [group, values] : samples) {
      record_.add("group_bytes_per_second", record_.entity(entity(group)), std::move(values));
    }
  }

  void add_suspects(const JudgedGroups& judged) {
    for (const Suspect& s : judged.suspects) {
      const int group = rail_ ? s.rail : s.host;
      fail(entity(group),
           fmt::format("{}: {} {:.1f} % of the {}' median; {}", subject(group),
                       rail_ ? "its ranks reach" : "its ranks among themselves reach",
                       s.share * 100, rail_ ? "rails" : "hosts", group_figures(s)),
           s.share);
    }
    if (rail_) return;  // a slow rank of a rail is what the pairs of hosts are for
    for (const Suspect& s : judged.slow_units) {
      const std::string& host = ranks_.names[static_cast<size_t>(group_of(s.host))];
      fail(
          {host, "rank", std::to_string(s.host)},
          fmt::format("{} rank {}: among the ranks of its host reaches {:.1f} % of what the others "
                      "do; {}",
                      host, s.host, s.share * 100, group_figures(s)),
          s.share);
    }
  }

  void add_fact(const GroupFindings& found, double worst_acceptable) {
    const bool hidden = found.judged.suspects.empty() && found.judged.slow_units.empty() &&
                        found.judged.least_detectable > worst_acceptable;
    std::string text = fmt::format(
        "{} of {} ranks; ", ranks_.groups.count,
        place_.host_of_rank.size() / static_cast<size_t>(std::max(1, ranks_.groups.count)));
    text += fmt::format(
        "{} {:.1f} % below the others",
        hidden ? "nobody is cleared: noise hides all that is less than" : "seen would be one from",
        found.judged.least_detectable * 100);
    record_.facts[ranks_.fact] = std::move(text);
  }

  void add_failures(const std::vector<PairReading>& readings) {
    size_t failed = 0;
    std::string first;
    for (const PairReading& r : readings) {
      if (r.value) continue;
      ++failed;
      if (first.empty()) first = fmt::format("rank {} → rank {}: {}", r.from, r.to, r.failure);
    }
    if (failed > 0)
      record_.notes.push_back(fmt::format("{} of {} transfers inside {} failed; {}", failed,
                                          readings.size(), rail_ ? "rails" : "hosts", first));
  }

 private:
  int group_of(int rank) const { return ranks_.groups.group_of[static_cast<size_t>(rank)]; }
  std::string subject(int group) const {
    const std::string& name = ranks_.names[static_cast<size_t>(group)];
    return rail_ ? name : "host " + name;
  }
  Entity entity(int group) const {
    const std::string& name = ranks_.names[static_cast<size_t>(group)];
    return rail_ ? Entity{"", "group", name} : Entity{name, "host", ""};
  }
  void fail(const Entity& entity, std::string detail, double share) {
    record_.checks.push_back({.name = "no_suspect",
                              .passed = false,
                              .value = share,
                              .entity = record_.entity(entity),
                              .detail = std::move(detail),
                              .finding = true});
  }

  Record& record_;
  const Place& place_;
  const RankGroups& ranks_;
  bool rail_;
};

}  // namespace

RankGroups ranks_of_hosts(const Place& place) {
  RankGroups out{
      .groups = {SuspectKind::inside, static_cast<int>(place.hosts.size()), place.host_of_rank},
      .fact = "hosts_inside",
      .names = place.hosts};
  const int each = ranks_each(place);
  out.not_compared = each == 0  ? "the hosts have different numbers of ranks"
                     : each < 2 ? "one rank on each host"
                                : too_few(out.groups.count, "hosts");
  return out;
}

RankGroups ranks_of_rails(const Place& place) {
  const int each = ranks_each(place);
  RankGroups out{.groups = {SuspectKind::rail, each, places_on_hosts(place)},
                 .fact = "rails_compared"};
  for (int rail = 0; rail < each; ++rail) out.names.push_back(fmt::format("rail {}", rail));
  out.not_compared = each == 0                ? "the hosts have different numbers of ranks"
                     : place.hosts.size() < 2 ? "one host"
                                              : too_few(each, "ranks on each host");
  return out;
}

GroupFindings survey_groups(Context& context, PairTransport& transport, const SurveyPlan& plan,
                            const RankGroups& ranks, uint64_t seed, const LocateOptions& options) {
  PairSurvey survey(context, transport, rank_units(context.place), plan);
  const std::vector<Round> rounds = rounds_within(ranks.groups, seed);
  GroupFindings out{.judged = {}, .readings = survey.run(rounds, false)};
  if (context.comm.is_root())
    out.judged = judge_groups(ranks.groups, to_samples(out.readings, plan.measure), options);
  return out;
}

void add_group_findings(Record& record, const Place& place, const RankGroups& ranks,
                        const GroupFindings& found, double worst_acceptable) {
  GroupRecord out(record, place, ranks);
  out.add_metrics(found.readings);
  out.add_suspects(found.judged);
  out.add_fact(found, worst_acceptable);
  out.add_failures(found.readings);
}

}  // namespace cb
