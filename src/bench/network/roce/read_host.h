#pragma once

#include <functional>

#include "model/roce/host.h"
#include "sys/os/fs_root.h"

namespace cb::net {

// Reads what this host says of its active RoCE ports. On a captured tree the answers that come by
// system calls are files below /netlink: PORT.dcb and rules (messages as the kernel sends them),
// PORT.pause ("rx 1 tx 0"), PORT.lldp (a frame behind its header) and addresses ("PORT
// 10.0.0.1/24" a line).
RoceHost read_roce_host(const FsRoot& fs, const std::string& host);

// Listens for neighbours on all ports at once, for at most that time or until `stop` says so.
void hear_neighbours(const FsRoot& fs, double seconds, const std::function<bool()>& stop,
                     RoceHost& host);

// Takes them from lldpd's file instead (read_lldpd_json()). Throws UsageError.
void read_neighbours(const std::string& file, RoceHost& host);

}  // namespace cb::net
