#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/pairs/transport.h"

namespace cb {

// A transport, or the reason why this rank has none ("no RDMA device on node03").
struct OpenedTransport {
  std::unique_ptr<PairTransport> transport;
  Said absent = {};
};

// Options of some transports.
struct TransportOptions {
  bool host_memory = false;  // nccl: use a stand-in library that takes host memory
  double wait_seconds = 60;  // nccl: a longer transfer ends the job
  double init_seconds = 90;  // nccl: limit for making the communicator
};

// Every transport that can measure pairs, in the order of the list for users.
const std::vector<std::string>& transport_names();

// Collective. Opens the transport of that name on every rank. Throws UsageError if
// transport_names() lacks the name.
OpenedTransport make_transport(std::string_view name, Context& context,
                               const TransportOptions& options = {});

// One maker per transport; transports.cpp lists them.
OpenedTransport make_mpi_transport(Context& context);
OpenedTransport make_tcp_transport(Context& context);
OpenedTransport make_verbs_transport(Context& context);
OpenedTransport make_nccl_transport(Context& context, const TransportOptions& options);

}  // namespace cb
