#pragma once

#include "bench/network/pair_end.h"
#include "bench/network/tcp/setup.h"

namespace cb::tcp {

// Ends of transfers as `spec` says; `setup` and `cancel` outlive them.
net::MakeEnd end_maker(const Setup& setup, const Spec& spec, const std::string& host,
                       const CancelToken& cancel);

}  // namespace cb::tcp
