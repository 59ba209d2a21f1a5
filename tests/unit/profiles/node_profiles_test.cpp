// The profiles of several nodes, and those of hosts, storage and GPUDirect, against made-up
// clusters: one whose every number lies on its limit is accepted; any number beyond its limit, and
// any failed check, changes that criterion.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "judge/verdict.h"
#include "shipped.h"

using namespace cb;

namespace {

constexpr double kCeiling = 1e12;

#ifdef CB_SANITIZED
constexpr const char* kProducts[] = {"h20", "b200"};  // all of them take minutes there
#else
constexpr const char* kProducts[] = {"a100-sxm-80g", "a800-sxm", "h100-sxm", "h800-sxm",
                                     "h200-sxm",     "h20",      "b200"};
#endif

// Which nothing else in this folder asks: all their criteria are looked at.
const std::set<std::string> kOthers{"checkpoint",
                                    "end-to-end",
                                    "end-to-end-gpu",
                                    "fabric-ib",
                                    "gds",
                                    "gpu-direct-200g",
                                    "gpu-direct-400g",
                                    "host",
                                    "host-quick",
                                    "nvme-gen4",
                                    "nvme-gen5",
                                    "parallel-fs",
                                    "parallel-fs-better",
                                    "parallel-fs-best",
                                    "parallel-fs-node",
                                    "parallel-fs-node-better",
                                    "parallel-fs-node-best",
                                    "preflight",
                                    "roce-settings",
                                    "tmpfs"};

std::vector<std::string> names() {
  std::vector<std::string> out(kOthers.begin(), kOthers.end());
  for (const char* product : kProducts) {
    for (const char* shape : {"pair", "cluster"}) {
      const std::string name = std::string(product) + "-" + shape;
      const bool fast = !name.starts_with('a');  // A100 and A800 come with ports of 200 Gb/s
      out.push_back(name);
      for (const bool ethernet : {false, true})
        out.push_back(name + "+" + test::network_profile(ethernet, fast));
    }
  }
  return out;
}

// The absolute limit; nothing where it is relative to the fleet, which a fleet of equals meets.
struct Limit {
  double value = 0;
  bool minimum = true;
};

std::optional<Limit> limit_of(const MetricRule& rule) {
  if (rule.min_of_ceiling) return Limit{*rule.min_of_ceiling * kCeiling, true};
  if (rule.min) return Limit{*rule.min, true};
  if (rule.max) return Limit{*rule.max, false};
  return std::nullopt;
}

// What one record is of: a step, and one value of each parameter.
using At = std::map<std::string, std::string>;
using Point = std::pair<std::string, At>;

// A point for each combination of the lists that select records.
std::vector<At> points_at(const GivenParams& given) {
  std::vector<At> out(1);
  for (const auto& [name, values] : given) {
    std::vector<At> next;
    for (const At& before : out) {
      for (const std::string& value : values) {
        next.push_back(before);
        next.back()[name] = value;
      }
    }
    out = std::move(next);
  }
  return out;
}

struct Wanted {
  std::map<std::string, Limit> metrics;  // the strictest
  std::set<std::string> checks;
};

void want(Wanted& w, const std::string& metric, const Limit& limit) {
  const auto [at, fresh] = w.metrics.try_emplace(metric, limit);
  if (!fresh)
    at->second.value = limit.minimum ? std::max(at->second.value, limit.value)
                                     : std::min(at->second.value, limit.value);
}

std::map<Point, Wanted> points_of(const Profile& profile) {
  std::map<Point, Wanted> out;
  for (const Criterion& c : profile.criteria) {
    if (const auto* rule = std::get_if<MetricRule>(&c.rule)) {
      for (const At& at : points_at(rule->at)) {
        if (const auto limit = limit_of(*rule)) want(out[{c.step, at}], rule->metric, *limit);
        if (!rule->since.empty())
          out[{rule->since, at}].metrics.try_emplace(rule->metric, Limit{0, false});
      }
    } else if (const auto* check = std::get_if<CheckRule>(&c.rule)) {
      for (const At& at : points_at(check->at)) out[{c.step, at}].checks.insert(check->check);
    }
  }
  // What only the fleet limits has any value, the same for all.
  for (const Criterion& c : profile.criteria) {
    const auto* rule = std::get_if<MetricRule>(&c.rule);
    if (rule == nullptr || limit_of(*rule)) continue;
    for (const At& at : points_at(rule->at))
      out[{c.step, at}].metrics.try_emplace(rule->metric, Limit{1e9, true});
  }
  // A job across all hosts has its checks in every record.
  std::map<std::string, std::set<std::string>> checks;
  for (const auto& [point, wanted] : out)
    checks[point.first].insert(wanted.checks.begin(), wanted.checks.end());
  for (auto& [point, wanted] : out) wanted.checks = checks[point.first];
  return out;
}

// One part of each host: six are enough for every median of the fleet.
Record record_of(const Point& point, const Wanted& wanted, const Step& step,
                 const std::vector<std::string>& hosts) {
  Record r{.case_name = step.case_name};
  for (const auto& [name, value] : point.second) r.params.set(name, value);
  for (const std::string& host : hosts) {
    for (const auto& [name, limit] : wanted.metrics) {
      Metric m{.name = name, .unit = name, .entity = r.entity({host, "gpu", "0"})};
      m.samples = {limit.value};
      m.ceiling = Ceiling{kCeiling, "test"};
      r.metrics.push_back(std::move(m));
    }
    for (const std::string& check : wanted.checks)
      r.checks.push_back(
          {.name = check, .passed = true, .entity = r.entity({host, "gpu", "0"}), .finding = true});
  }
  return r;
}

// From so many hosts on a cluster is judged as a large one.
constexpr int kLarge = 65;

// Enough for every step and criterion that is not of large clusters alone.
int hosts_of(const Profile& profile) {
  int out = 6;
  const auto needed_by = [&](const Requirements& needs) {
    const auto hosts = needs.find("hosts");
    if (hosts != needs.end() && hosts->second < kLarge) out = std::max(out, hosts->second);
  };
  for (const Step& s : profile.steps) needed_by(s.needs);
  for (const Criterion& c : profile.criteria) needed_by(c.needs);
  return out;
}

bool is_of_large(const Criterion& c) {
  const auto hosts = c.needs.find("hosts");
  return hosts != c.needs.end() && hosts->second == kLarge;
}

Campaign cluster(const Profile& profile, int hosts) {
  Campaign c;
  for (int i = 1; i <= hosts; ++i) c.hosts.push_back("n" + std::to_string(i));
  for (const std::string& host : c.hosts) {
    HostInventory inventory{.host = host};
    for (int i = 0; i < 8; ++i) {
      inventory.parts.push_back({.kind = "gpu", .id = std::to_string(i)});
      inventory.parts.push_back({.kind = "rdma", .id = std::to_string(i)});
      inventory.parts.push_back({.kind = "nvme", .id = std::to_string(i)});
    }
    c.inventories.push_back(inventory);
  }
  const auto points = points_of(profile);
  for (const Step& step : profile.steps) {
    const bool all = step.scope == Scope::cluster;
    for (const std::string& host : all ? std::vector<std::string>{""} : c.hosts) {
      const std::vector<std::string> measured = all ? c.hosts : std::vector<std::string>{host};
      Document d;
      d.run.hosts = measured;
      for (const auto& [point, wanted] : points) {
        if (point.first == step.id) d.records.push_back(record_of(point, wanted, step, measured));
      }
      if (d.records.empty()) d.records.push_back({.case_name = step.case_name});
      Job job{.step = step.id, .host = host, .state = JobState::done, .file = step.id + host};
      job.document = std::move(d);
      c.jobs.push_back(std::move(job));
    }
  }
  return c;
}

State state_on(const Campaign& c, const Profile& profile, const std::string& id) {
  const Judgement j = judge(c, profile, {}, "2026-11-21");
  for (const CriterionVerdict& v : j.criteria) {
    if (v.criterion->id == id) return v.state;
  }
  FAIL("no verdict on " << id);
  return State::incomplete;
}

bool same_point(const Record& r, const At& at) {
  return std::ranges::all_of(at, [&](const auto& wanted) {
    return r.params.has(wanted.first) && r.params.text(wanted.first) == wanted.second;
  });
}

// Beyond a limit of zero lies one event.
double changed(const MetricRule& rule, const Metric& m, double factor) {
  const auto limit = limit_of(rule);
  if (!rule.since.empty()) return m.samples.summary().median + std::max(1.0, limit->value * factor);
  const double from = limit ? limit->value : m.samples.summary().median;
  return from == 0 ? 1 : from * factor;
}

// The value of n2's part at one point this many times its limit (where that is the fleet's, times
// the others'), or its check failed.
Campaign worse(const Profile& profile, const Criterion& criterion, const At& at, double factor) {
  Campaign c = cluster(profile, is_of_large(criterion) ? kLarge : hosts_of(profile));
  for (Job& job : c.jobs) {
    if (job.step != criterion.step) continue;
    for (Record& r : job.document->records) {
      if (const auto* rule = std::get_if<MetricRule>(&criterion.rule)) {
        for (Metric& m : r.metrics) {
          if (m.name == rule->metric && same_point(r, at) && r.entities[m.entity].host == "n2")
            m.samples = {changed(*rule, m, factor)};
        }
      } else if (const auto* check = std::get_if<CheckRule>(&criterion.rule)) {
        for (Check& k : r.checks) {
          if (k.name == check->check && r.entities[k.entity].host == "n2") k.passed = false;
        }
      }
    }
  }
  return c;
}

// The points of the criterion's records: of a check all at once.
std::vector<At> points_of_rule(const Criterion& c) {
  const auto* rule = std::get_if<MetricRule>(&c.rule);
  return rule == nullptr ? std::vector<At>(1) : points_at(rule->at);
}

// One number of one host beyond the limit changes the criterion, at each of its points.
void check_other_side(const Profile& profile, const Criterion& c) {
  const auto* rule = std::get_if<MetricRule>(&c.rule);
  const bool maximum = rule != nullptr && (rule->max || rule->max_of_fleet);
  const double share = rule == nullptr      ? 1
                       : rule->min_of_fleet ? *rule->min_of_fleet
                       : rule->max_of_fleet ? *rule->max_of_fleet
                                            : 1;
  const double beyond = share * (maximum ? 1 + 1e-6 : 1 - 1e-6);
  const double within = share * (maximum ? 1 - 1e-6 : 1 + 1e-6);
  const State expected = c.severity == Severity::warn ? State::warn : State::fail;
  for (const At& at : points_of_rule(c)) {
    CHECK(state_on(worse(profile, c, at, beyond), profile, c.id) == expected);
    if (rule != nullptr && share != 1)
      CHECK(state_on(worse(profile, c, at, within), profile, c.id) == State::pass);
  }
}

}  // namespace

TEST_CASE("a cluster of which every number is just good enough is accepted") {
  for (const std::string& name : names()) {
    CAPTURE(name);
    const Profile profile = test::shipped(name);
    const bool large = std::ranges::any_of(profile.criteria, is_of_large);
    for (const int hosts : large ? std::vector{hosts_of(profile), kLarge - 1, kLarge}
                                 : std::vector{hosts_of(profile)}) {
      const Judgement j = judge(cluster(profile, hosts), profile, {}, "2026-11-21");
      for (const CriterionVerdict& v : j.criteria) {
        CAPTURE(v.criterion->id);
        CAPTURE(v.reason);
        const bool applies = v.criterion->needs.contains("hosts_at_most") ? hosts < kLarge
                             : is_of_large(*v.criterion)                  ? hosts == kLarge
                                                                          : true;
        // Inventories of parts without attributes are equal in nothing.
        if (!std::holds_alternative<UniformRule>(v.criterion->rule))
          CHECK(v.state == (applies ? State::pass : State::not_applicable));
      }
    }
  }
}

TEST_CASE("what distinguishes these profiles is reached from the other side too") {
  for (const std::string& name : names()) {
    const Profile profile = test::shipped(name);
    // The networks' criteria are the same for every product: of one all are looked at.
    const bool all = name.starts_with("h20-") || kOthers.contains(name);
    for (const Criterion& c : profile.criteria) {
      if (std::holds_alternative<UniformRule>(c.rule)) continue;
      if (!all && !c.step.starts_with("nccl") && c.step != "locate" && !c.id.ends_with(".fleet"))
        continue;
      CAPTURE(name);
      CAPTURE(c.id);
      check_other_side(profile, c);
    }
  }
}

TEST_CASE("every text of every profile that a customer reads is there in Chinese") {
  const std::filesystem::path root = std::getenv("CLUSTERBENCH_SOURCE_DIR");
  const auto chinese = [](const std::string& text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0xE3; });
  };
  size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "profiles")) {
    if (entry.path().extension() != ".json") continue;
    const Profile p = test::shipped(entry.path().stem().string());
    CAPTURE(p.name);
    ++seen;
    CHECK(chinese(p.title.zh));
    for (const Criterion& c : p.criteria) {
      CAPTURE(c.id);
      CHECK(chinese(c.title.zh));
      CHECK(chinese(c.why.zh));
      CHECK(chinese(c.source.ref.zh));
    }
    for (const ChecklistItem& item : p.checklist) CHECK(chinese(item.text.zh));
  }
  CHECK(seen >= 50);
}
