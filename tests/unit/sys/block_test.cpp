#include "sys/storage/block.h"

#include <doctest/doctest.h>

#include "block_tree.h"
#include "sys/storage/signatures.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

using namespace cb;
using cb::test::BlockTree;

namespace {

std::vector<std::string> names(const std::vector<block::Device>& devices) {
  std::vector<std::string> out;
  for (const auto& d : devices) out.push_back(d.name);
  return out;
}

}  // namespace

TEST_CASE("a device is found by its number, with what identifies it") {
  BlockTree tree;
  tree.disk("nvme0n1", "259:0", "S64GNE0R");
  tree.partition("nvme0n1", "nvme0n1p1", "259:1");
  tree.add(tree.dir("nvme0n1") + "/wwid", "eui.0025385\n");
  const auto disk = block::find(tree.fs(), block::Number{259, 0});
  REQUIRE(disk);
  CHECK(disk->name == "nvme0n1");
  CHECK(disk->bytes == 1ull << 30);
  CHECK(disk->serial == "S64GNE0R");
  CHECK(disk->wwid == "eui.0025385");
  CHECK(disk->partitions == std::vector<std::string>{"nvme0n1p1"});
  CHECK_FALSE(disk->partition);

  const auto part = block::find(tree.fs(), block::Number{259, 1});
  REQUIRE(part);
  CHECK(part->partition);
  CHECK(part->serial == "S64GNE0R");  // of the disk
  CHECK(block::whole(tree.fs(), *part)->name == "nvme0n1");
  CHECK_FALSE(block::find(tree.fs(), block::Number{8, 0}));
}

TEST_CASE("a disk is near the node of the nearest device above it that has one") {
  BlockTree tree;
  tree.disk("nvme0n1", "259:0", "S64GNE0R");
  CHECK_FALSE(block::find(tree.fs(), "nvme0n1")->numa_node);
  tree.add("/sys/class/block/numa_node", "1\n");
  CHECK(block::find(tree.fs(), "nvme0n1")->numa_node == 1);
  tree.add(tree.dir("nvme0n1") + "/device/numa_node", "-1\n");  // a controller that does not know
  CHECK(block::find(tree.fs(), "nvme0n1")->numa_node == 1);
  tree.add(tree.dir("nvme0n1") + "/device/numa_node", "0\n");
  CHECK(block::find(tree.fs(), "nvme0n1")->numa_node == 0);
}

TEST_CASE("the serial number of a SCSI disk stands in its vital product data") {
  BlockTree tree;
  tree.disk("sda", "8:0");
  tree.add(tree.dir("sda") + "/device/vpd_pg80", std::string("\0\x80\0\x0a  WD-1234AB", 16));
  CHECK(block::find(tree.fs(), "sda")->serial == "WD-1234AB");
}

TEST_CASE("writing touches the disk, its partitions and all that is built on them") {
  BlockTree tree;
  tree.disk("sda", "8:0", "A");
  tree.partition("sda", "sda1", "8:1");
  tree.partition("sda", "sda2", "8:2");
  tree.disk("md0", "9:0");
  tree.disk("dm-0", "253:0");
  tree.hold("sda2", "md0");
  tree.hold("md0", "dm-0");
  const auto fs = tree.fs();
  CHECK(names(block::touched_by_writing(fs, *block::find(fs, "sda"))) ==
        std::vector<std::string>{"sda", "sda1", "sda2", "md0", "dm-0"});
  // A partition's neighbour is not changed, its disk is.
  CHECK(names(block::touched_by_writing(fs, *block::find(fs, "sda1"))) ==
        std::vector<std::string>{"sda1", "sda"});
  CHECK(names(block::disks_below(fs, *block::find(fs, "dm-0"))) == std::vector<std::string>{"sda"});
}

TEST_CASE("mounts are found by number, and by source where the number is nobody's") {
  BlockTree tree;
  tree.disk("sda", "8:0", "A");
  tree.disk("sdb", "8:16", "B");
  tree.disk("dm-3", "253:3");
  tree.add(tree.dir("dm-3") + "/dm/name", "vg0-data\n");
  tree.mount("8:0", "/srv/a\\040b", "/dev/root");
  tree.mount("0:45", "/btrfs", "/dev/sdb");
  tree.mount("0:46", "/lv", "/dev/mapper/vg0-data");
  const auto fs = tree.fs();
  CHECK(block::mount_points(fs, *block::find(fs, "sda")) == std::vector<std::string>{"/srv/a b"});
  CHECK(block::mount_points(fs, *block::find(fs, "sdb")) == std::vector<std::string>{"/btrfs"});
  CHECK(block::mount_points(fs, *block::find(fs, "dm-3")) == std::vector<std::string>{"/lv"});
}

TEST_CASE("swap partitions are told from swap files") {
  BlockTree tree;
  tree.disk("sda", "8:0", "A");
  tree.partition("sda", "sda1", "8:1");
  CHECK(block::swaps(tree.fs()).empty());
  tree.swap("/dev/sda1", "partition");
  CHECK(block::is_swap(tree.fs(), *block::find(tree.fs(), "sda1")));
  CHECK_FALSE(block::is_swap(tree.fs(), *block::find(tree.fs(), "sda")));
  tree.swap("/dev/sda1", "file");
  CHECK_FALSE(block::is_swap(tree.fs(), *block::find(tree.fs(), "sda1")));
}

TEST_CASE("signatures: every one of them, and none in a blank device") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  const int fd = ::fileno(file);
  REQUIRE(::ftruncate(fd, 64 << 20) == 0);
  CHECK(signatures(fd, "blank").empty());
  // A swap area (mm/swapfile.c: magic at the end of the first page, version and pages at 1024) and
  // the boot signature of an MBR with one partition of type Linux.
  const char magic[] = "SWAPSPACE2";
  const uint32_t header[2] = {1, 1000};
  const unsigned char entry[16] = {0x80, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0};
  const unsigned char boot[2] = {0x55, 0xaa};
  REQUIRE(::pwrite(fd, magic, 10, 4086) == 10);
  REQUIRE(::pwrite(fd, header, 8, 1024) == 8);
  const auto one = signatures(fd, "swap");
  REQUIRE(one.size() == 1);
  CHECK(one[0].type == "swap");
  REQUIRE(::pwrite(fd, entry, 16, 446) == 16);
  REQUIRE(::pwrite(fd, boot, 2, 510) == 2);
  const auto two = signatures(fd, "swap and MBR");
  REQUIRE(two.size() == 2);
  CHECK(two[0].type == "swap");
  CHECK(two[1].type == "dos");
  CHECK(two[1].kind == "partition table");
  std::fclose(file);
  CHECK_THROWS(signatures(-1, "closed"));
}
