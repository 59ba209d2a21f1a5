// Error counters of ports against the bits that were moved.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/fabric/findings.h"
#include "model/fabric/mad.h"

namespace cb {
namespace {

constexpr double kBitsPerWord = 32;  // PortRcvData counts words of 4 bytes

// Each is the port's own trouble. Remote physical errors are the neighbour's, discards congestion.
constexpr std::array<const char*, 3> kAlwaysErrors{
    "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "PortRcvConstraintErrors"};
constexpr std::array<const char*, 2> kWindowErrors{"LinkErrorRecoveryCounter", "LinkDownedCounter"};
constexpr std::array<const char*, 6> kErrorCounters{
    "SymbolErrorCounter",       "PortRcvErrors",
    "LinkErrorRecoveryCounter", "LinkDownedCounter",
    "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors"};

uint64_t count_of(const PortCounts& counts, const char* name) {
  const auto at = counts.find(name);
  return at == counts.end() ? 0 : at->second;
}

const PortCounts& judged(const Net& net, const NetPort& port) {
  return net.window_seconds ? port.moved : port.counts;
}

std::string errors_text(const PortCounts& counts, bool window) {
  std::string out;
  const auto add = [&](const std::string& name, uint64_t n) {
    if (n > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, n);
  };
  for (const char* name : kAlwaysErrors) add(name, count_of(counts, name));
  if (window) {
    for (const char* name : kWindowErrors) add(name, count_of(counts, name));
  }
  // Errors that a neighbour has marked are counted in both.
  const uint64_t receive = count_of(counts, "PortRcvErrors");
  const uint64_t remote = count_of(counts, "PortRcvRemotePhysicalErrors");
  add("PortRcvErrors", receive > remote ? receive - remote : 0);
  return out;
}

// Of symbol errors: nothing where there are none, or few for what was received.
std::optional<Said> symbols(const PortCounts& counts) {
  const uint64_t errors = count_of(counts, "SymbolErrorCounter");
  if (errors == 0) return std::nullopt;
  if (!counts.contains("PortRcvData")) return said("fabric.symbol_errors", errors);
  const double bits = static_cast<double>(count_of(counts, "PortRcvData")) * kBitsPerWord;
  const double ratio = static_cast<double>(errors) / std::max(bits, 1.0);
  if (ratio <= kErrorsPerBit) return std::nullopt;
  return said("fabric.errors_per_bit", errors, fmt::format("{:.3g}", bits),
              fmt::format("{:.2g}", ratio), fmt::format("{:.0e}", kErrorsPerBit));
}

void saturated(const Net& net, const NetEnd& end, const NetPort& port,
               std::vector<NetFinding>& out) {
  std::string names;
  for (const auto& [name, value] : port.counts) {
    // Of those counters that 64 bits replace, data and packets wrap around within seconds.
    if (name.starts_with("PortXmit") || name.starts_with("PortRcvData") ||
        name.starts_with("PortRcvPkts"))
      continue;
    if (value == counter_limit(name)) names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty())
    out.push_back({"saturated", net.end_name(end), said("fabric.saturated", names)});
}

}  // namespace

std::optional<double> shown_errors_per_bit(const Net& net) {
  std::optional<double> slowest;
  for (const NetLink& link : net.links) {
    if (link.rate) slowest = std::min(slowest.value_or(1e30), link.rate->bits_per_second());
  }
  if (!slowest || net.window_seconds.value_or(0) <= 0) return std::nullopt;
  return 3 / (*slowest * *net.window_seconds);
}

std::vector<NetFinding> counter_findings(const Net& net) {
  std::vector<NetFinding> out;
  if (!net.knows.counters) return out;
  for (const auto& [end, port] : net.ports) {
    if (!port.cleared.empty())
      out.push_back({"cleared", net.end_name(end), said("fabric.cleared", port.cleared.front())});
    saturated(net, end, port, out);
    const PortCounts& counts = judged(net, port);
    const std::string errors = errors_text(counts, net.window_seconds.has_value());
    const auto symbol = symbols(counts);
    if (errors.empty() && !symbol) continue;
    std::vector<Said> clauses;
    if (!errors.empty()) clauses.push_back(said("fabric.errors", errors));
    if (symbol) clauses.push_back(*symbol);
    clauses.push_back(said("fabric.errors_next"));
    out.push_back({"errors", net.end_name(end), said_list(clauses)});
  }
  return out;
}

size_t ends_with_errors(const Net& net) {
  return static_cast<size_t>(std::ranges::count_if(net.ports, [&](const auto& item) {
    return std::ranges::any_of(kErrorCounters, [&](const char* name) {
      return count_of(judged(net, item.second), name) > 0;
    });
  }));
}

}  // namespace cb
