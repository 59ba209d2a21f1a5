#include "bench/storage/io/storage.h"

#include <doctest/doctest.h>

using namespace cb;
using namespace cb::io;

namespace {

constexpr const char* kMounts =
    "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "25 21 0:22 / /dev/shm rw shared:2 - tmpfs tmpfs rw\n"
    "40 21 259:1 / /data rw,noatime shared:9 master:1 - xfs /dev/nvme0n1p1 rw\n"
    "41 21 0:50 / /data/lower\\040half rw - overlay overlay rw,lowerdir=/l\n"
    "42 21 0:51 / /scratch rw - nfs4 server:/export rw\n";

}  // namespace

TEST_CASE("the mount is found by its id") {
  const Storage s = find_storage(kMounts, 40, "/anywhere");
  CHECK(s.filesystem == "xfs");
  CHECK(s.mount_point == "/data");
  CHECK(s.source == "/dev/nvme0n1p1");
  CHECK(s.on_device);
  CHECK_FALSE(s.in_memory);
}

TEST_CASE("without an id the longest mount point that leads to the path counts") {
  CHECK(find_storage(kMounts, std::nullopt, "/data/x").mount_point == "/data");
  CHECK(find_storage(kMounts, std::nullopt, "/database").mount_point == "/");
  const Storage overlay = find_storage(kMounts, std::nullopt, "/data/lower half/x");
  CHECK(overlay.filesystem == "overlay");
  CHECK(overlay.mount_point == "/data/lower half");
  CHECK_FALSE(overlay.on_device);
}

TEST_CASE("memory and network filesystems are told from disks") {
  CHECK(find_storage(kMounts, std::nullopt, "/dev/shm/x").in_memory);
  const Storage nfs = find_storage(kMounts, std::nullopt, "/scratch/a");
  CHECK(nfs.filesystem == "nfs4");
  CHECK_FALSE(nfs.in_memory);
  CHECK_FALSE(nfs.on_device);
  CHECK(find_storage("", std::nullopt, "/x").filesystem == "unknown");
  CHECK(find_storage("garbage\n21 1\n", 21, "/x").mount_point.empty());
}
