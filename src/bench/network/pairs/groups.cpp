#include "bench/network/pairs/groups.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/network/pairs/findings.h"

namespace cb {
namespace {

constexpr int kMinToCompare = 3;
// Rounds of pairs in a group. They are repeated until each rank has sent kSamplesPerRank times or a
// little more.
constexpr int kGroupRounds = 4;
constexpr size_t kSamplesPerRank = 9;

// Number of ranks on every host; 0 if hosts have different numbers.
int ranks_each(const RankMap& place) {
  std::vector<int> count(place.hosts.size(), 0);
  for (const int host : place.host_of_rank) ++count[static_cast<size_t>(host)];
  const bool equal = std::all_of(count.begin(), count.end(), [&](int c) { return c == count[0]; });
  return equal ? count[0] : 0;
}

std::vector<int> places_on_hosts(const RankMap& place) {
  std::vector<int> seen(place.hosts.size(), 0), out;
  for (const int host : place.host_of_rank) out.push_back(seen[static_cast<size_t>(host)]++);
  return out;
}

Said too_few(int count, const char* id) {
  return count >= kMinToCompare ? Said() : said(id, kMinToCompare, count);
}

std::vector<Round> rounds_within(const UnitGroups& groups, uint64_t seed) {
  const std::vector<Round> once =
      both_directions(local_rounds(groups.group_of, kGroupRounds, seed));
  std::vector<Round> out;
  // Half of the rounds go in the other direction, so each rank needs twice the rounds.
  while (!once.empty() && out.size() < 2 * kSamplesPerRank)
    out.insert(out.end(), once.begin(), once.end());
  return out;
}

std::string percent_text(double share, int digits) {
  return fmt::format("{:.{}f}", share * 100, digits);
}

class GroupRecord {
 public:
  GroupRecord(Record& record, const RankMap& place, const RankGroups& ranks)
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
           said(rail_ ? "locate.rail_slow" : "locate.inside_slow", subject(group),
                percent_text(s.share, 1), s.low, s.samples, percent_text(s.confidence, 2)),
           s.share);
    }
    if (rail_) return;  // the pairs of hosts find a slow rank of a rail
    for (const Suspect& s : judged.slow_units) {
      const std::string& host = ranks_.names[static_cast<size_t>(group_of(s.host))];
      fail({host, "rank", std::to_string(s.host)},
           said("locate.rank_slow", host, s.host, percent_text(s.share, 1), s.low, s.samples,
                percent_text(s.confidence, 2)),
           s.share);
    }
  }

  void add_fact(const GroupFindings& found, double worst_acceptable) {
    const bool hidden = found.judged.suspects.empty() && found.judged.slow_units.empty() &&
                        found.judged.least_detectable > worst_acceptable;
    const auto groups = static_cast<size_t>(std::max(1, ranks_.groups.count));
    record_.facts[ranks_.fact] =
        said(hidden ? "locate.groups_hidden" : "locate.groups_seen", ranks_.groups.count,
             place_.host_of_rank.size() / groups, percent_text(found.judged.least_detectable, 1));
  }

  void add_failures(const std::vector<PairReading>& readings) {
    size_t failed = 0;
    Said first;
    for (const PairReading& r : readings) {
      if (r.value) continue;
      ++failed;
      if (first.empty()) first = said("locate.from_to", r.from, r.to, r.failure);
    }
    if (failed > 0)
      record_.notes.push_back(
          said(rail_ ? "locate.inside_rails_failed" : "locate.inside_hosts_failed", failed,
               readings.size(), first));
  }

 private:
  int group_of(int rank) const { return ranks_.groups.group_of[static_cast<size_t>(rank)]; }
  Said subject(int group) const {
    if (rail_) return said("locate.rail", group);
    return said("locate.host", ranks_.names[static_cast<size_t>(group)]);
  }
  Entity entity(int group) const {
    const std::string& name = ranks_.names[static_cast<size_t>(group)];
    return rail_ ? Entity{"", "group", name} : Entity{name, "host", ""};
  }
  void fail(const Entity& entity, Said detail, double share) {
    record_.checks.push_back({.name = "no_suspect",
                              .passed = false,
                              .value = share,
                              .entity = record_.entity(entity),
                              .detail = std::move(detail),
                              .finding = true});
  }

  Record& record_;
  const RankMap& place_;
  const RankGroups& ranks_;
  bool rail_;
};

}  // namespace

RankGroups ranks_of_hosts(const RankMap& place) {
  RankGroups out{
      .groups = {SuspectKind::inside, static_cast<int>(place.hosts.size()), place.host_of_rank},
      .fact = "hosts_inside",
      .names = place.hosts};
  const int each = ranks_each(place);
  out.not_compared = each == 0  ? said("locate.uneven")
                     : each < 2 ? said("locate.one_rank")
                                : too_few(out.groups.count, "locate.few_hosts");
  return out;
}

RankGroups ranks_of_rails(const RankMap& place) {
  const int each = ranks_each(place);
  RankGroups out{.groups = {SuspectKind::rail, each, places_on_hosts(place)},
                 .fact = "rails_compared"};
  for (int rail = 0; rail < each; ++rail) out.names.push_back(fmt::format("rail {}", rail));
  out.not_compared = each == 0                ? said("locate.uneven")
                     : place.hosts.size() < 2 ? said("locate.one_host")
                                              : too_few(each, "locate.few_ranks_each");
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

void add_group_findings(Record& record, const RankMap& place, const RankGroups& ranks,
                        const GroupFindings& found, double worst_acceptable) {
  GroupRecord out(record, place, ranks);
  out.add_metrics(found.readings);
  out.add_suspects(found.judged);
  out.add_fact(found, worst_acceptable);
  out.add_failures(found.readings);
}

}  // namespace cb
