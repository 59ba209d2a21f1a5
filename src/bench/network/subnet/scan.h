// A subnet read by management datagrams: nodes and links by directed routes, then what they say of
// themselves. Nothing is set, no counter is cleared.
#pragma once

#include "bench/network/subnet/mad_exchange.h"
#include "model/fabric/net.h"

namespace cb::net {

struct ScanWish {
  uint64_t key = 0;  // M_Key
  bool tables = true;
  bool counters = true;
  double window_seconds = 0;  // 0: counters once
};

struct ScanResult {
  Net net;
  double discovery_seconds = 0;  // nodes, ports and links
  std::vector<Said> notes;       // what could not be read, with the reason
};

// `wait` sleeps that many seconds; it may throw, which ends the scan.
ScanResult scan_subnet(MadExchange& exchange, const ScanWish& wish,
                       const std::function<void(double seconds)>& wait);

}  // namespace cb::net
