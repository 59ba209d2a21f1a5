#pragma once

#include "bench/network/pair_endpoint.h"
#include "bench/network/tcp/setup.h"

namespace cb::tcp {

// Makes ends of transfers according to `spec`. `setup` and `cancel` must outlive them.
net::MakeEndpoint end_maker(const Setup& setup, const Spec& spec, const std::string& host,
                            const CancelToken& cancel);

}  // namespace cb::tcp
