// The lines of `clusterbench compare`.
#include "cli/compare_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/name_ranges.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxLines = 40;
constexpr size_t kMaxHosts = 20;
constexpr size_t kMaxList = 100;

std::string hosts_line(const std::set<std::string>& names) {
  const std::string out = name_ranges({names.begin(), names.end()});
  return out.size() <= kMaxList ? out : out.substr(0, out.rfind(',', kMaxList)) + ",…";
}

// The names of what could be the cause that several entities have in common.
std::set<std::string> ends_of(const Entity& e) {
  std::set<std::string> out{e.host};
  if (!e.id.empty()) out.insert(e.host + ":" + e.id);
  if (e.peer) {
    out.insert(*e.peer);
    out.insert(e.peer->substr(0, e.peer->find_first_of(": ")));
  }
  out.erase("");
  return out;
}

// The longest, so the narrowest, name that ends_of() gives for every entity; empty if there is
// none.
std::string common_end(const std::vector<const Entity*>& entities) {
  std::set<std::string> common = ends_of(*entities.front());
  for (const Entity* e : entities) {
    const std::set<std::string> mine = ends_of(*e);
    std::erase_if(common, [&](const std::string& end) { return !mine.contains(end); });
  }
  const auto longest = std::ranges::max_element(common, {}, &std::string::size);
  return longest == common.end() ? "" : *longest;
}

// A host with many parts appears by its name alone: "node[0003,0010]:5,node0032".
std::string parts_line(const std::set<Entity>& entities) {
  constexpr size_t kFewParts = 3;
  std::map<std::string, std::set<std::string>> hosts;
  for (const Entity& e : entities) hosts[e.host].insert(entity_name(e));
  std::set<std::string> names;
  for (const auto& [host, parts] : hosts) {
    if (parts.size() > kFewParts && !host.empty())
      names.insert(host);
    else
      names.insert(parts.begin(), parts.end());
  }
  return hosts_line(names);
}

// Examples: "n1:mlx5_0 → n2", "31 pairs, all with n28:mlx5_3", "node[0003,0010]:5".
std::string entities_text(const std::vector<const Entity*>& entities) {
  std::set<Entity> names;
  for (const Entity* e : entities) names.insert(*e);
  if (names.size() == 1) return entity_name(*names.begin());
  if (entities.front()->kind == "pair") {
    const std::string common = common_end(entities);
    return common.empty() ? fmt::format("{} pairs", names.size())
                          : fmt::format("{} pairs, all with {}", names.size(), common);
  }
  return parts_line(names);
}

std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:+.1f} %", share * 100) : "from 0";
}

// Changes of one kind in a metric of a step, and all metrics that say the same.
struct ChangeLine {
  std::vector<const Change*> changes;  // largest change first
  std::vector<std::string> metrics;
};

const char* change_mark(ChangeKind kind) {
  return kind == ChangeKind::worse ? "✗" : kind == ChangeKind::better ? "✓" : "?";
}

std::string certainty(const Change& c) {
  if (c.kind != ChangeKind::undecided)
    return c.p < 1e-6 ? "p < 1e-6" : fmt::format("p {:.2g}", c.p);
  if (c.p_alone < 0.01) return fmt::format("p {:.2g} alone, too many compared", c.p_alone);
  return fmt::format("too few samples: {} and {}", c.a->summary.n, c.b->summary.n);
}

std::string change_text(const ChangeLine& line) {
  const Change& c = *line.changes.front();
  std::vector<const Entity*> entities;
  std::set<std::string> points;
  for (const Change* one : line.changes) {
    entities.push_back(one->b->entity);
    points.insert(params_key(one->after->params));
  }
  std::string metrics;
  for (const std::string& m : line.metrics) metrics += (metrics.empty() ? "" : ", ") + m;
  const std::string at = compare_point(c.after->step->id, c.after->params, c.after->info);
  std::string out =
      fmt::format("{} {:9} {}  {} → {}  {}  {} {}  {}", change_mark(c.kind), change_name(c.kind),
                  share_text(c.share), format_value(c.a->summary.median, c.before->unit),
                  format_value(c.b->summary.median, c.after->unit), entity_name(*c.b->entity), at,
                  metrics, certainty(c));
  if (line.changes.size() > 1)
    out += fmt::format("\n            and {} more, the least {}: {}{}", line.changes.size() - 1,
                       share_text(line.changes.back()->share), entities_text(entities),
                       points.size() > 1 ? fmt::format("; {} points", points.size()) : "");
  return out;
}

// True if two metrics say the same, as bus and algorithm bandwidth do.
bool same_changes(const ChangeLine& a, const ChangeLine& b) {
  return std::ranges::equal(a.changes, b.changes, [](const Change* x, const Change* y) {
    return x->kind == y->kind && *x->b->entity == *y->b->entity &&
           x->after->step == y->after->step && x->after->params == y->after->params &&
           (x->share == y->share || std::abs(x->share - y->share) < 1e-9);
  });
}

std::vector<ChangeLine> change_lines(const Comparison& found) {
  std::vector<ChangeLine> lines;
  std::map<std::tuple<ChangeKind, std::string, std::string>, size_t> places;
  for (const Change& c : found.changes) {
    if (c.kind == ChangeKind::same) continue;
    const auto [place, fresh] =
        places.try_emplace({c.kind, c.after->step->id, c.after->metric}, lines.size());
    if (fresh) lines.push_back({.changes = {}, .metrics = {c.after->metric}});
    lines[place->second].changes.push_back(&c);
  }
  std::vector<ChangeLine> out;
  for (ChangeLine& line : lines) {
    const auto twin = std::ranges::find_if(
        out, [&](const ChangeLine& other) { return same_changes(line, other); });
    if (twin == out.end())
      out.push_back(std::move(line));
    else
      twin->metrics.push_back(line.metrics.front());
  }
  return out;
}

// Lines like "node0032  (84 of gemm triad: iops check data)": what hosts lack, by reason.
std::vector<std::string> missing_lines(const Comparison& found) {
  struct Group {
    std::set<Entity> parts;
    std::set<std::string> steps, metrics;
    size_t count = 0;
  };
  std::map<std::tuple<bool, std::string, std::string>, Group> groups;  // not lost, host, reason
  for (const Unmatched& u : found.missing) {
    Group& group = groups[{!u.lost, u.host, u.reason}];
    group.parts.insert(u.host == u.entity.host ? u.entity : Entity{u.host, "host", ""});
    group.steps.insert(u.step);
    group.metrics.insert(u.what);
    ++group.count;
  }
  // Hosts that lack the same things for the same reason share a line.
  std::map<std::tuple<bool, std::string, std::set<std::string>, std::set<std::string>>, Group> by;
  for (const auto& [key, group] : groups) {
    Group& whole = by[{std::get<0>(key), std::get<2>(key), group.steps, group.metrics}];
    whole.parts.insert(group.parts.begin(), group.parts.end());
    whole.count += group.count;
  }
  std::vector<std::string> out;
  for (const auto& [key, group] : by) {
    const auto& [open, reason, steps, metrics] = key;
    const auto join = [](const std::set<std::string>& words) {
      std::string text;
      for (const std::string& w : words) text += (text.empty() ? "" : " ") + w;
      return text.size() <= kMaxList ? text : text.substr(0, text.rfind(' ', kMaxList)) + " …";
    };
    out.push_back(fmt::format("{} no longer measured: {}  ({} of {}: {}){}", open ? "?" : "✗",
                              parts_line(group.parts), group.count, join(steps), join(metrics),
                              reason.empty() ? "" : ": " + reason));
  }
  return out;
}

std::vector<std::string> check_lines(const Comparison& found) {
  std::vector<std::string> out;
  for (const CheckChange& c : found.checks) {
    const bool fails = c.kind == ChangeKind::worse, mended = c.kind == ChangeKind::better;
    out.push_back(fmt::format("{} check {} of {} {}: {}{}",
                              fails    ? "✗"
                              : mended ? "✓"
                                       : "!",
                              c.check, compare_point(c.step, c.params, c.info),
                              fails    ? "fails now"
                              : mended ? "fails no more"
                                       : "still fails",
                              entity_name(c.entity), c.detail.empty() ? "" : "  " + c.detail));
  }
  return out;
}

std::vector<std::string> verdict_lines(const Comparison& found) {
  std::vector<std::string> out;
  for (const VerdictChange& v : found.verdicts) {
    const std::string change =
        !v.before  ? fmt::format("new, {}", state_name(*v.after))
        : !v.after ? fmt::format("no longer judged, was {}", state_name(*v.before))
                   : fmt::format("{} → {}", state_name(*v.before), state_name(*v.after));
    const bool told = !v.reason.empty();
    out.push_back(fmt::format("{} criterion {}: {}{}", change_mark(v.kind), v.criterion, change,
                              told ? "  " + v.reason : ""));
  }
  return out;
}

std::vector<std::string> host_lines(const HostMatch& hosts) {
  std::vector<std::string> out;
  for (const MappedHost& pair : hosts.renamed)
    out.push_back(pair.after.empty()
                      ? fmt::format("! {} is gone ({})", pair.before, pair.how)
                      : fmt::format("! {} is now {} ({})", pair.before, pair.after, pair.how));
  for (const ExchangedPart& part : hosts.exchanged)
    out.push_back(
        fmt::format("! {} is another piece: {} → {}", part.what, part.before, part.after));
  if (!hosts.gone.empty())
    out.push_back("✗ no longer there: " + hosts_line({hosts.gone.begin(), hosts.gone.end()}) +
                  "  (--map OLD=NEW if it has another name, OLD= if it is gone on purpose)");
  if (!hosts.fresh.empty())
    out.push_back("+ new: " + hosts_line({hosts.fresh.begin(), hosts.fresh.end()}));
  return out;
}

void append(std::string& out, const std::vector<std::string>& lines, const char* what) {
  for (size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) {
    const size_t second = lines[i].find('\n');
    out += terminal_safe(lines[i].substr(0, second)) + "\n";
    if (second != std::string::npos) out += terminal_safe(lines[i].substr(second + 1)) + "\n";
  }
  if (lines.size() > kMaxLines)
    out += fmt::format("  and {} more {}: see --json or --md\n", lines.size() - kMaxLines, what);
}

std::string host_table(const Comparison& found) {
  std::vector<HostRow> rows = compare_hosts_rows(found);
  std::erase_if(rows, [](const HostRow& r) { return r.checks + r.lost + r.worse == 0; });
  if (rows.size() < 2) return "";
  std::vector<std::vector<std::string>> cells{
      {"host", "worse", "better", "undecided", "lost", "failing checks"}};
  for (size_t i = 0; i < std::min(rows.size(), kMaxHosts); ++i)
    cells.push_back({terminal_safe(rows[i].host), std::to_string(rows[i].worse),
                     std::to_string(rows[i].better), std::to_string(rows[i].undecided),
                     std::to_string(rows[i].lost), std::to_string(rows[i].checks)});
  std::string out = text_table(cells, {false, true, true, true, true, true});
  if (rows.size() > kMaxHosts) out += fmt::format("  and {} more hosts\n", rows.size() - kMaxHosts);
  return out;
}

std::vector<std::string> added_lines(const Comparison& found) {
  std::set<std::string> what;
  std::set<Entity> parts;
  for (const Unmatched& u : found.added) {
    what.insert(u.step);
    parts.insert(u.entity);
  }
  if (found.added.empty()) return {};
  std::string names;
  for (const std::string& step : what) names += " " + step;
  return {fmt::format("+ not measured before: {} figures of{}: {}", found.added.size(), names,
                      parts_line(parts))};
}

}  // namespace

std::string compare_point(const std::string& step, const Params& params, const CaseInfo* info) {
  std::string out = step;
  for (const char* name : {"size", "dtype", "op", "reduction", "block-size"}) {
    const auto found = params.all().find(name);
    if (found != params.all().end()) out += " " + param_text(info, name, found->second);
  }
  return out;
}

std::vector<HostRow> compare_hosts_rows(const Comparison& found) {
  std::map<std::string, HostRow> rows;
  const auto row = [&](const Entity& e) -> HostRow& {
    return rows[e.host.empty() ? "(cluster)" : e.host];
  };
  for (const Change& c : found.changes) {
    if (c.kind == ChangeKind::worse) ++row(*c.b->entity).worse;
    if (c.kind == ChangeKind::better) ++row(*c.b->entity).better;
    if (c.kind == ChangeKind::undecided) ++row(*c.b->entity).undecided;
  }
  for (const Unmatched& u : found.missing) {
    if (u.lost) ++rows[u.host.empty() ? "(cluster)" : u.host].lost;
  }
  for (const CheckChange& c : found.checks) {
    if (c.kind != ChangeKind::better) ++row(c.entity).checks;
  }
  std::vector<HostRow> out;
  for (auto& [host, one] : rows) {
    one.host = host;
    out.push_back(one);
  }
  std::ranges::stable_sort(out, std::greater<>(), [](const HostRow& r) {
    return std::tuple(r.checks, r.lost, r.worse, r.undecided, r.better);
  });
  return out;
}

std::string compare_counts(const Comparison& found) {
  const auto failing = std::ranges::count(found.checks, ChangeKind::worse, &CheckChange::kind);
  const auto criteria = std::ranges::count(found.verdicts, ChangeKind::worse, &VerdictChange::kind);
  std::string out =
      fmt::format("{} compared: {} worse, {} better, {} undecided, {} same", found.changes.size(),
                  found.count(ChangeKind::worse), found.count(ChangeKind::better),
                  found.count(ChangeKind::undecided), found.count(ChangeKind::same));
  if (!found.missing.empty()) out += fmt::format("; {} no longer measured", found.missing.size());
  if (failing > 0)
    out += fmt::format("; {} failing now",
                       failing == 1 ? "1 check" : std::to_string(failing) + " checks");
  if (criteria > 0)
    out += fmt::format("; {} worse",
                       criteria == 1 ? "1 criterion" : std::to_string(criteria) + " criteria");
  return out;
}

namespace {

std::string compare_doubts(const char* which, const std::vector<Said>& doubts) {
  std::string out;
  for (const Said& doubt : doubts)
    out += fmt::format("? evidence  the {} campaign is not as its run left it: {}\n", which,
                       terminal_safe(doubt.text()));
  return out;
}

}  // namespace

std::string compare_lines(const Comparison& found) {
  std::string out =
      compare_doubts("earlier", found.doubts_before) + compare_doubts("later", found.doubts_after);
  std::vector<std::string> differs;
  for (const FingerprintDifference& d : found.fingerprint)
    differs.push_back(fmt::format("! {} differs: {} → {}", d.what,
                                  d.before.empty() ? "absent" : d.before,
                                  d.after.empty() ? "absent" : d.after));
  append(out, differs, "differences");
  append(out, host_lines(found.hosts), "hosts");
  append(out, verdict_lines(found), "criteria");
  append(out, check_lines(found), "checks");
  append(out, missing_lines(found), "that are missing");
  std::vector<std::string> changes;
  for (const ChangeLine& line : change_lines(found)) changes.push_back(change_text(line));
  append(out, changes, "changes");
  append(out, added_lines(found), "figures");
  out += host_table(found);
  if (found.overall_before != found.overall_after)
    out += fmt::format("verdict: {} → {}\n", state_name(found.overall_before),
                       state_name(found.overall_after));
  return out + compare_counts(found) +
         (found.fingerprint.empty() ? "" : "; the campaigns are not alike, see above") + "\n";
}

}  // namespace cb
