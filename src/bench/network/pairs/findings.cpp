#include "bench/network/pairs/findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace cb {
namespace {

using Cell = std::tuple<int, int, int>;  // from, to, rail

const Unit& unit(const FleetNames& names, int index) {
  return names.units.at(static_cast<size_t>(index));
}

std::string rail_name(const FleetNames& names, int rail) {
  if (rail < 0 || names.rails.empty()) return "";
  return names.rails.at(static_cast<size_t>(rail));
}

// "node03", "node03:mlx5_1", "node03 rank 5"
std::string end_name(const FleetNames& names, int index, int rail) {
  const std::string nic = rail_name(names, rail);
  return unit(names, index).name() + (nic.empty() ? "" : ":" + nic);
}

std::string leaf_name(const FleetNames& names, int leaf) {
  const auto at = static_cast<size_t>(leaf);
  return at < names.leaves.size() ? names.leaves[at] : std::to_string(leaf);
}

Entity pair_entity(const FleetNames& names, const Cell& cell) {
  const auto& [from, to, rail] = cell;
  const Unit& sender = unit(names, from);
  const std::string nic = rail_name(names, rail);
  return {sender.host, "pair", nic.empty() ? sender.id : nic, end_name(names, to, rail)};
}

Entity unit_entity(const Unit& u) {
  if (u.id.empty()) return {u.host, "host", ""};
  return {u.host, "rank", std::to_string(u.rank)};
}

Entity entity_of(const FleetNames& names, const Suspect& s) {
  switch (s.kind) {
    case SuspectKind::host:
      return unit_entity(unit(names, s.host));
    case SuspectKind::nic:
      return {unit(names, s.host).host, names.rail_kind, rail_name(names, s.rail)};
    case SuspectKind::link:
      return pair_entity(names, {s.host, s.peer, s.rail});
    default:
      break;  // uplink
  }
  return {"", "group", "leaf " + leaf_name(names, s.leaf)};
}

Said unit_subject(const Unit& u) {
  return u.id.empty() ? said("locate.host", u.name()) : Said(u.name());
}

Said subject(const FleetNames& names, const Suspect& s) {
  switch (s.kind) {
    case SuspectKind::host:
      return unit_subject(unit(names, s.host));
    case SuspectKind::nic:
      return said("locate." + names.rail_kind, end_name(names, s.host, s.rail));
    case SuspectKind::link:
      return said("locate.link", end_name(names, s.host, s.rail), end_name(names, s.peer, s.rail));
    default:
      break;  // uplink
  }
  if (s.peer_leaf < 0) return said("locate.uplink", leaf_name(names, s.leaf));
  return said("locate.path", leaf_name(names, s.leaf), leaf_name(names, s.peer_leaf));
}

const char* verb_id(const Suspect& s) {
  if (s.kind == SuspectKind::link || s.kind == SuspectKind::uplink) return "locate.carries";
  return s.side == Side::transmit  ? "locate.sends"
         : s.side == Side::receive ? "locate.receives"
                                   : "locate.sends_and_receives";
}

Said describe(const FleetNames& names, const Suspect& s) {
  const Said slow = said(verb_id(s), subject(names, s), fmt::format("{:.1f}", s.share * 100), s.low,
                         s.samples, fmt::format("{:.2f}", s.confidence * 100));
  return s.congestion ? said_list({slow, said("locate.congestion")}) : slow;
}

struct Failures {
  size_t failed = 0;
  size_t all = 0;
  Said first = {};

  void add(const PairReading& r) {
    ++all;
    if (r.value) return;
    ++failed;
    if (first.empty()) first = r.failure;
  }
  bool always() const { return all > 0 && failed == all; }
};

// Units that failed in every reading.
std::map<int, Failures> dead_units(const std::vector<PairReading>& readings) {
  std::map<int, Failures> by_unit;
  for (const PairReading& r : readings) {
    by_unit[r.from].add(r);
    by_unit[r.to].add(r);
  }
  // Two units that fail only with each other are a dead pair, not two dead units.
  std::erase_if(by_unit, [](const auto& u) { return !u.second.always(); });
  return by_unit;
}

class Findings {
 public:
  Findings(Record& record, const FleetNames& names) : record_(record), names_(names) {}

  void add(const Entity& entity, Said detail, std::optional<double> value) {
    record_.checks.push_back({.name = "no_suspect",
                              .passed = false,
                              .value = value,
                              .entity = record_.entity(entity),
                              .detail = std::move(detail),
                              .finding = true});
  }

  void add_dead(const std::vector<PairReading>& readings) {
    const auto dead = dead_units(readings);
    std::map<Cell, Failures> cells;
    for (const PairReading& r : readings) cells[{r.from, r.to, r.rail}].add(r);
    for (const auto& [index, f] : dead) {
      const Unit& u = unit(names_, index);
      add(unit_entity(u), said("locate.none_worked", unit_subject(u), f.all, f.first), {});
    }
    for (const auto& [cell, f] : cells) {
      const auto& [from, to, rail] = cell;
      // If most transfers of a pair worked, the failed one was a busy moment, not a broken link.
      if (2 * f.failed <= f.all || dead.contains(from) || dead.contains(to)) continue;
      add(pair_entity(names_, cell),
          said("locate.link_failed", end_name(names_, from, rail), end_name(names_, to, rail),
               f.failed, f.all, f.first),
          {});
    }
  }

 private:
  Record& record_;
  const FleetNames& names_;
};

}  // namespace

std::vector<HostPair> failed_pairs(const std::vector<PairReading>& readings) {
  const auto dead = dead_units(readings);
  std::vector<HostPair> out;
  for (const PairReading& r : readings) {
    if (!r.value && !dead.contains(r.from) && !dead.contains(r.to)) out.push_back({r.from, r.to});
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<PairSample> to_samples(const std::vector<PairReading>& readings, PairMeasure measure) {
  std::vector<PairSample> out;
  for (const PairReading& r : readings) {
    if (!r.value || *r.value <= 0) continue;
    const double value = measure == PairMeasure::latency ? 1 / *r.value : *r.value;
    out.push_back({r.from, r.to, r.rail, value, r.alone});
  }
  return out;
}

void add_pair_metrics(Record& record, const FleetNames& names,
                      const std::vector<PairReading>& readings, PairMeasure measure) {
  const bool latency = measure == PairMeasure::latency;
  std::map<Cell, Samples> cells;
  for (const PairReading& r : readings) {
    if (r.value) cells[{r.from, r.to, r.rail}].add(*r.value);
  }
  for (auto& [cell, samples] : cells) {
    record.add(latency ? "latency_seconds" : "bytes_per_second",
               record.entity(pair_entity(names, cell)), std::move(samples));
  }
}

void add_findings(Record& record, const FleetNames& names, const std::vector<PairReading>& readings,
                  const Located& located) {
  Findings findings(record, names);
  findings.add_dead(readings);
  for (const Suspect& s : located.suspects)
    findings.add(entity_of(names, s), describe(names, s), s.share);
  if (!record.checks.empty()) return;
  record.checks.push_back({.name = "no_suspect",
                           .passed = true,
                           .entity = record.entity({"", "cluster", ""}),
                           .finding = true});
}

}  // namespace cb
