#include "bench/network/verbs/rails.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/suggest.h"

namespace cb::verbs {
namespace {

// A port for one host ("n3:mlx5_4") or for all hosts; the number of "mlx5_1:2" is the port's.
struct Asked {
  std::string host;
  std::string port;
  bool of_job = true;
};

Asked split(const std::string& text, const std::vector<std::string>& hosts) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {"", text};
  const std::string first = text.substr(0, colon), rest = text.substr(colon + 1);
  if (std::ranges::find(hosts, first) != hosts.end()) return {first, rest};
  if (rest.find_first_not_of("0123456789") == std::string::npos) return {"", text};
  return {first, rest, false};
}

// "mlx5_1:l" is no port of a host.
bool is_device(const std::string& name, const std::vector<RdmaPort>& ports) {
  return std::ranges::find(ports, name, &RdmaPort::device) != ports.end();
}

std::vector<RdmaPort> active_ports(const std::vector<RdmaPort>& ports) {
  std::vector<RdmaPort> out;
  for (const RdmaPort& p : ports) {
    if (p.active()) out.push_back(p);
  }
  return out;
}

}  // namespace

std::vector<RdmaPort> choose_rails(const std::vector<std::string>& asked,
                                   const std::vector<RdmaPort>& ports, const std::string& host,
                                   const std::vector<std::string>& hosts, Problems& problems) {
  if (asked.size() == 1 && asked[0] == "auto") return active_ports(ports);
  std::vector<std::string> known;
  for (const RdmaPort& p : ports) known.push_back(p.name());
  // A campaign may have left a host out that the list names. A name that is wrong shows where its
  // host has no ports of its own or another number of them, and in any case by notes_of_rails().
  const bool has_own = std::ranges::any_of(
      asked, [&](const std::string& text) { return split(text, hosts).host == host; });
  std::vector<RdmaPort> out;
  for (const std::string& text : asked) {
    Asked one = split(text, hosts);
    if (!one.of_job && (!has_own || is_device(one.host, ports))) one = {"", text};
    if (!one.host.empty() && one.host != host) continue;
    const auto found = std::find(known.begin(), known.end(), one.port);
    if (found != known.end()) {
      out.push_back(ports[static_cast<size_t>(found - known.begin())]);
    } else if (ports.empty()) {
      problems.add("--rails", fmt::format("{}: {} has no RDMA device", one.port, host));
    } else {
      problems.add("--rails", fmt::format("{}: {}", host, unknown_name(one.port, known)));
    }
  }
  return out;
}

std::string hosts_beside(const std::vector<std::string>& asked,
                         const std::vector<std::string>& hosts) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const std::string& text : asked) {
    const Asked one = split(text, hosts);
    if (!one.of_job && std::ranges::find(names, one.host) == names.end()) names.push_back(one.host);
  }
  const size_t named = std::min(names.size(), kMostNamed), more = names.size() - named;
  names.resize(named);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<Said> notes_of_rails(const std::vector<std::string>& asked,
                                 const std::vector<std::string>& hosts) {
  const std::string beside = hosts_beside(asked, hosts);
  if (beside.empty()) return {};
  return {said("verbs.hosts_beside", beside)};
}

}  // namespace cb::verbs
