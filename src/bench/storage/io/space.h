#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "bench/storage/io/storage.h"

namespace cb::io {

// What one rank is going to put on a filesystem, and what there is of it.
struct SpaceNeed {
  std::string filesystem;  // the same text on every rank that sees the same filesystem
  std::string mount_point;
  uint64_t bytes = 0, files = 0;
  uint64_t free_bytes = 0, used_bytes = 0, total_bytes = 0;
  std::optional<uint64_t> free_files = {};  // nothing where inodes are made as needed
};

// Asks the filesystem of the open directory. One without a device of this host may be seen by all
// hosts: it is told apart by its source ("server:/export"), a local one by host and device.
SpaceNeed space_need(int directory, const Storage& storage, const std::string& host,
                     const FsRoot& fs, uint64_t bytes, uint64_t files);

// What is wrong with all of that taken together; empty if it fits, with 1 % and 16 MiB to spare,
// and leaves the filesystem at most `most_full` (share of its size) full.
std::vector<Said> space_problems(const std::vector<SpaceNeed>& ranks, double most_full);

// Collective. Throws the same Error on every rank if the ranks together need more than there is.
void require_space(Comm& comm, const SpaceNeed& mine, double most_full);

}  // namespace cb::io
