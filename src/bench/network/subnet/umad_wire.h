#pragma once

#include <memory>

#include "bench/network/subnet/mad_exchange.h"
#include "sys/os/fs_root.h"

namespace cb::net {

// A port of this host: "mlx5_0/1", "mlx5_0", or "" for the first active one. Throws Error with the
// next step.
std::unique_ptr<MadWire> open_umad_wire(const FsRoot& fs, const std::string& port);

}  // namespace cb::net
