// Finds limits that let everything pass.
#include "core/profile_limits.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace cb {
namespace {

// What one part, host or cluster can have at all: anything that works is above `least`, and `most`
// is far beyond the largest installation (an exascale machine has 2e18 FLOP/s and 1e5 hosts).
struct UnitRange {
  std::string_view unit;
  double least, most;
};

constexpr std::array kRanges{
    UnitRange{"bytes_per_second", 1, 1e18},
    UnitRange{"bits_per_second", 1, 1e19},
    UnitRange{"flops_per_second", 1, 1e22},
    UnitRange{"operations_per_second", 1, 1e22},
    UnitRange{"flops_per_joule", 1, 1e20},
    UnitRange{"messages_per_second", 1e-3, 1e15},
    UnitRange{"io_per_second", 1e-3, 1e15},
    UnitRange{"seconds", 1e-12, 1e8},
    UnitRange{"bytes", 1, 1e21},
    UnitRange{"hertz", 1, 1e12},
    UnitRange{"share", 1e-3, 1e3},
    UnitRange{"celsius", -90, 200},
    UnitRange{"watts", 1e-3, 1e9},
    UnitRange{"count", 1e-9, 1e18},
    UnitRange{"count per second", 1e-9, 1e18},
};

UnitRange range_of(const std::string& unit) {
  const auto found = std::ranges::find(kRanges, unit, &UnitRange::unit);
  return found == kRanges.end() ? UnitRange{unit, 1e-30, 1e30} : *found;
}

constexpr int kMaxHosts = 100000;
constexpr int kMaxParts = 4096;  // of one kind in one host, such as NUMA nodes or mounts
constexpr int kMaxGpus = 256;

}  // namespace

std::optional<std::string> cannot_be_missed(double limit, bool is_minimum,
                                            const std::string& unit) {
  const UnitRange range = range_of(unit);
  if (is_minimum && limit < range.least)
    return fmt::format("is {:g}, which nothing falls below: the least that means something is {:g}",
                       limit, range.least);
  if (!is_minimum && limit > range.most)
    return fmt::format("is {:g}, which nothing exceeds: the most that means something is {:g}",
                       limit, range.most);
  return std::nullopt;
}

void validate_limits(const MetricRule& rule, const MetricDef& def, const std::string& where,
                     Problems& problems) {
  if (rule.min_of_ceiling && def.better == Better::lower)
    problems.add(where + ".min_of_ceiling",
                 fmt::format("{} is better when lower: it has no ceiling to reach", def.name));
  if (rule.min && def.unit == "share" && *rule.min > 1)
    problems.add(where + ".min", "is a share above 1 (write 95 % as 0.95)");
  for (const auto& [key, unit] : rule.units) {
    if (!unit.empty() && unit != def.unit)
      problems.add(where + "." + key, fmt::format("is given in {}, and {} is measured in {}", unit,
                                                  def.name, def.unit));
  }
  const bool only_max = rule.max && !rule.min && !rule.min_of_ceiling && !rule.min_of_fleet;
  if (only_max && def.better == Better::higher && rule.since.empty())
    problems.add(where + ".max",
                 fmt::format("asks for nothing: {} is better when higher; write min", def.name));
  if (rule.min && !rule.max && !rule.max_of_fleet && def.better == Better::lower)
    problems.add(where + ".min",
                 fmt::format("asks for nothing: {} is better when lower; write max", def.name));
  const auto require = [&](const char* key, const std::optional<double>& limit, bool minimum) {
    if (!limit) return;
    if (const auto why = cannot_be_missed(*limit, minimum, def.unit))
      problems.add(where + "." + key, *why);
  };
  require("min", rule.min, true);
  require("max", rule.max, false);
  require("max_spread_of_host", rule.max_spread_of_host, false);
}

Requirements merge_needs(Requirements a, const Requirements& b) {
  for (const auto& [kind, count] : b) {
    const auto [at, fresh] = a.try_emplace(kind, count);
    if (!fresh)
      at->second =
          kind == "hosts_at_most" ? std::min(at->second, count) : std::max(at->second, count);
  }
  return a;
}

void validate_needs(const Requirements& needs, const std::string& where, Problems& problems) {
  for (const auto& [kind, count] : needs) {
    const int most = counts_hosts(kind) ? kMaxHosts : kind == "gpu" ? kMaxGpus : kMaxParts;
    if (count > most)
      problems.add(where + ".needs." + kind,
                   fmt::format("is {}, which nothing meets: at most {}", count, most));
  }
  const auto least = needs.find("hosts"), most = needs.find("hosts_at_most");
  if (least != needs.end() && most != needs.end() && least->second > most->second)
    problems.add(
        where + ".needs.hosts_at_most",
        fmt::format("is {}, which nothing meets: hosts is {}", most->second, least->second));
}

}  // namespace cb
