#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/pairs/transport.h"

namespace cb {

// A transport, or why this rank has none ("no RDMA device on node03").
struct OpenedTransport {
  std::unique_ptr<PairTransport> transport;
  Said absent = {};
};

// What some transports need to know beforehand.
struct TransportOptions {
  bool host_memory = false;  // nccl: for a library that stands in for it
  double wait_seconds = 60;  // nccl: a transfer that takes longer ends the job
  double init_seconds = 90;  // nccl: to make the communicator
};

// Every transport that pairs can be measured with, in the order in which they are listed.
const std::vector<std::string>& transport_names();

// Collective. Opens the transport of that name on every rank. Throws UsageError for a name that is
// not in transport_names().
OpenedTransport make_transport(std::string_view name, Context& context,
                               const TransportOptions& options = {});

// One maker per transport; transports.cpp lists them.
OpenedTransport make_mpi_transport(Context& context);
OpenedTransport make_tcp_transport(Context& context);
OpenedTransport make_verbs_transport(Context& context);
OpenedTransport make_nccl_transport(Context& context, const TransportOptions& options);

}  // namespace cb
