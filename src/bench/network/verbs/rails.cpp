#include "bench/network/verbs/rails.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/suggest.h"

namespace cb::verbs {
namespace {

// A port for one host ("n3:mlx5_4", if n3 is a host of the job) or for all hosts.
struct Asked {
  std::string host;
  std::string port;
};

Asked split(const std::string& text, const std::vector<std::string>& hosts) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {"", text};
  const std::string first = text.substr(0, colon);
  if (std::find(hosts.begin(), hosts.end(), first) == hosts.end()) return {"", text};
  return {first, text.substr(colon + 1)};
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
  std::vector<RdmaPort> out;
  for (const std::string& text : asked) {
    const Asked one = split(text, hosts);
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

}  // namespace cb::verbs
