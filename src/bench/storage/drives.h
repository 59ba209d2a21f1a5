#pragma once

#include "bench/harness/case.h"
#include "sys/storage/nvme.h"

namespace cb::io {

// Adds the state of every NVMe drive of this host, from the kernel and the drive's SMART log:
// drives that answer, PCIe link in use over what the drive can do, spare, wear, running totals.
// Neither reads nor writes the drives' data. A figure that cannot be read is absent; a fact gives
// the reason.
void add_drives(Record& record, const FsRoot& fs, const std::string& host,
                const nvme::AdminCommand& send);

}  // namespace cb::io
