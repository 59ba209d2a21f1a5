#pragma once

#include "bench/harness/case.h"
#include "sys/storage/nvme.h"

namespace cb::io {

// The state of every NVMe drive of this host, as the kernel and its SMART log tell it: drives that
// answer, PCIe link in use over what the drive can, spare, wear, running totals. Nothing is read
// from or written to the drives' data. What cannot be read is absent, with the reason in a fact.
void add_drives(Record& record, const FsRoot& fs, const std::string& host,
                const nvme::AdminCommand& send);

}  // namespace cb::io
