#pragma once

#include <span>
#include <vector>

// Which host has a slow link, from the rates of the links of a ring of hosts: pure.
// docs/methods/training-prediction.md.
namespace cb::training {

// Bytes per second of one host: the faster of its two links. A neighbour of a slow host has one
// slow link and a good one; a slow host has two slow ones.
struct HostLinks {
  double send = 0;
  double receive = 0;
};

// to_next[i]: from host i to i+1; to_previous[i]: from host i to i−1, both round the ring.
std::vector<HostLinks> host_links(std::span<const double> to_next,
                                  std::span<const double> to_previous);

// Of a host beside the median host (of two middle ones the faster): 1 is the median.
struct LinkShare {
  double send = 1;
  double receive = 1;
};
std::vector<LinkShare> link_shares(std::span<const HostLinks> hosts);

}  // namespace cb::training
