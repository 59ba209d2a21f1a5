#include "model/training/host_links.h"

#include <algorithm>

namespace cb::training {
namespace {

double upper_median_of(std::span<const HostLinks> hosts, double HostLinks::*member) {
  std::vector<double> all;
  for (const HostLinks& one : hosts) all.push_back(one.*member);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace

std::vector<HostLinks> host_links(std::span<const double> to_next,
                                  std::span<const double> to_previous) {
  const size_t n = to_next.size();
  std::vector<HostLinks> out(n);
  for (size_t i = 0; i < n; ++i)
    out[i] = {std::max(to_next[i], to_previous[i]),
              std::max(to_next[(i + n - 1) % n], to_previous[(i + 1) % n])};
  return out;
}

std::vector<LinkShare> link_shares(std::span<const HostLinks> hosts) {
  std::vector<LinkShare> out;
  if (hosts.empty()) return out;
  const double send = upper_median_of(hosts, &HostLinks::send);
  const double receive = upper_median_of(hosts, &HostLinks::receive);
  for (const HostLinks& one : hosts)
    out.push_back({send > 0 ? one.send / send : 1, receive > 0 ? one.receive / receive : 1});
  return out;
}

}  // namespace cb::training
