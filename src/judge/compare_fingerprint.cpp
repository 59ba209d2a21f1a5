#include "judge/compare_fingerprint.h"

#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/name_ranges.h"

namespace cb {
namespace {

// What must be the same for figures to be comparable (attributes of the first part of a kind).
constexpr std::array<std::pair<const char*, const char*>, 14> kComparedAttributes{{
    {"system", "kernel"},
    {"cpu", "model"},
    {"cpu", "governor"},
    {"memory", "total_bytes"},
    {"gpu", "model"},
    {"gpu", "power_limit_watts"},
    {"gpu", "vbios"},
    {"rdma", "firmware"},
    {"rdma", "rate_bits_per_second"},
    {"driver", "version"},
    {"nvme", "model"},
    {"nvme", "firmware"},
    {"library", "version"},
    {"system", "bios_version"},
}};

std::string values_of(const Campaign& c, const char* kind, const char* attribute) {
  std::set<std::string> values;
  for (const HostInventory& host : c.inventories) {
    for (const Part* part : host.all(kind)) {
      if (const auto text = text_of(part, attribute))
        values.insert(part->kind == "library" ? part->id + " " + *text : *text);
    }
  }
  std::string out;
  for (const std::string& v : values) out += (out.empty() ? "" : ", ") + v;
  return out;
}

// "32: n[01-32]": the names show an exchanged host, the count alone does not.
std::string names_of(const std::vector<std::string>& hosts) {
  return fmt::format("{}: {}", hosts.size(), name_ranges(hosts));
}

std::string part_counts(const Campaign& c, const char* kind) {
  std::set<size_t> counts;
  for (const HostInventory& host : c.inventories) counts.insert(host.all(kind).size());
  std::string out;
  for (const size_t n : counts) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

// Returns the environment variables of all jobs as one text.
std::string environment_of(const Campaign& c) {
  std::set<std::string> lines;
  for (const Job& job : c.jobs) {
    if (!job.document) continue;
    for (const auto& [name, value] : job.document->run.environment)
      lines.insert(name + "=" + value);
  }
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : " ") + line;
  return out;
}

}  // namespace

std::string step_text(const Step& step) {
  std::string out = step.case_name;
  for (const auto& [name, values] : step.params) {
    out += " " + name;
    for (const std::string& value : values) out += " " + value;
  }
  for (const auto& [name, value] : step.env) out += " " + name + "=" + value;
  return out;
}

namespace {

std::map<std::string, std::string> steps_of(const Profile& profile) {
  std::map<std::string, std::string> out;
  for (const Step& step : profile.steps) out[step.id] = step_text(step);
  return out;
}

}  // namespace

std::vector<FingerprintDifference> fingerprint_differences(const Campaign& a, const Campaign& b) {
  std::vector<FingerprintDifference> out;
  const auto add = [&](std::string what, std::string before, std::string after) {
    if (before != after) out.push_back({std::move(what), std::move(before), std::move(after)});
  };
  add("profile", a.profile.name, b.profile.name);
  add("profile.sha256", a.profile.sha256, b.profile.sha256);
  add("tool.version", a.tool.version, b.tool.version);
  add("tool.commit", a.tool.commit, b.tool.commit);
  add("hosts", names_of(a.hosts), names_of(b.hosts));
  add("launcher", a.launcher, b.launcher);
  auto steps_before = steps_of(a.profile), steps_after = steps_of(b.profile);
  for (const auto& [id, text] : steps_before) steps_after.try_emplace(id);
  for (const auto& [id, text] : steps_after) add("step " + id, steps_before[id], text);
  for (const auto& [kind, attribute] : kComparedAttributes)
    add(fmt::format("{}.{}", kind, attribute), values_of(a, kind, attribute),
        values_of(b, kind, attribute));
  for (const char* kind : {"gpu", "rdma", "nvme"})
    add(fmt::format("{}.count", kind), part_counts(a, kind), part_counts(b, kind));
  add("environment", environment_of(a), environment_of(b));
  return out;
}

}  // namespace cb
