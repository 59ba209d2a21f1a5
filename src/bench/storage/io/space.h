#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "bench/storage/io/storage.h"

namespace cb::io {

// What one rank is going to put on a filesystem, and what room the filesystem has.
struct SpaceNeed {
  std::string filesystem;  // the same text on every rank that sees the same filesystem
  std::string mount_point;
  uint64_t bytes = 0, files = 0;
  uint64_t free_bytes = 0, used_bytes = 0, total_bytes = 0;
  std::optional<uint64_t> free_files = {};  // absent if the filesystem makes inodes as needed
};

// Asks the filesystem of the open directory. A local filesystem is identified by host and device.
// All hosts may see one without a device of this host, so its source identifies it
// ("server:/export").
SpaceNeed space_need(int directory, const Storage& storage, const std::string& host,
                     const FsRoot& fs, uint64_t bytes, uint64_t files);

// The problems of all ranks' needs together. Empty if they fit, with 1 % and 16 MiB to spare, and
// leave the filesystem at most `most_full` (share of its size) full.
std::vector<Said> space_problems(const std::vector<SpaceNeed>& ranks, double most_full);

// Throws the same Error on every rank if the ranks together need more than there is. Collective.
void require_space(Comm& comm, const SpaceNeed& mine, double most_full);

}  // namespace cb::io
