#include "bench/storage/io/raw_guard.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../sys/block_tree.h"

using namespace cb;
using namespace cb::io;
using cb::test::BlockTree;

namespace {

// A machine whose disk nvme1n1 (serial SN1) is free, beside the mounted nvme0n1.
struct GuardedMachine : BlockTree {
  GuardedMachine() {
    disk("nvme0n1", "259:0", "SN0");
    partition("nvme0n1", "nvme0n1p1", "259:1");
    disk("nvme1n1", "259:8", "SN1");
    mount("259:1", "/", "/dev/nvme0n1p1");
  }
  std::vector<std::string> refusals(block::Number number, std::optional<std::string> serial,
                                    const std::vector<Signature>& found = {}) const {
    return why_not_write_device(fs(), number, serial, found);
  }
  // Of the free disk with its right serial number.
  std::vector<std::string> refusals(const std::vector<Signature>& found = {}) const {
    return refusals({259, 8}, "SN1", found);
  }
};

std::vector<std::string> why_not_overwrite(const FsRoot& fs, const std::string& path) {
  const Fd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return why_not_overwrite_file(fs, file.get());
}

std::vector<std::string> why_not_make_in(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return why_not_make_directory(directory.get());
}

bool one_with(const std::vector<std::string>& reasons, const std::string& text) {
  for (const std::string& reason : reasons) INFO(reason);
  return reasons.size() == 1 && reasons[0].find(text) != std::string::npos;
}

bool has(const std::vector<std::string>& reasons, const std::string& text) {
  for (const std::string& reason : reasons) {
    if (reason.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a free disk that is meant for certain may be written") {
  CHECK(GuardedMachine().refusals().empty());
}

TEST_CASE("no serial number, or another one") {
  const GuardedMachine m;
  CHECK(one_with(m.refusals({259, 8}, std::nullopt), "--allow-raw-write SERIAL"));
  CHECK(one_with(m.refusals({259, 8}, ""), "--allow-raw-write SERIAL"));
  CHECK(one_with(m.refusals({259, 8}, "SN0"), "has the serial number SN1, not SN0"));
  CHECK(one_with(m.refusals({259, 8}, "sn1"), "has the serial number SN1, not sn1"));
}

TEST_CASE("a device without a serial number of its own is never written") {
  GuardedMachine m;
  m.disk("nullb0", "252:0");
  CHECK(one_with(m.refusals({252, 0}, "anything"), "no serial number"));
}

TEST_CASE("the parent disk of a mounted partition, and the partition") {
  const GuardedMachine m;
  const auto disk = m.refusals({259, 0}, "SN0");
  CHECK(has(disk, "nvme0n1p1, a partition of nvme0n1, is mounted on /"));
  CHECK(has(disk, "has the partitions nvme0n1p1"));
  CHECK(has(m.refusals({259, 1}, "SN0"), "nvme0n1p1 is mounted on /"));
}

TEST_CASE("a partition of a disk that is in use as a whole") {
  GuardedMachine m;
  m.disk("sda", "8:0", "A");
  m.partition("sda", "sda1", "8:1");
  m.mount("8:0", "/iso", "/dev/sda");
  CHECK(one_with(m.refusals({8, 1}, "A"), "sda, the disk that sda1 is a part of, is mounted"));
}

TEST_CASE("a member of LVM, RAID, encryption or a cache, also through a partition") {
  for (const char* upper : {"dm-0", "md127", "bcache0"}) {
    GuardedMachine m;
    m.disk(upper, "250:0");
    m.hold("nvme1n1", upper);
    CHECK(one_with(m.refusals(), std::string("nvme1n1 is held by ") + upper));
  }
  GuardedMachine m;
  m.partition("nvme1n1", "nvme1n1p3", "259:11");
  m.disk("dm-1", "250:1");
  m.hold("nvme1n1p3", "dm-1");
  m.mount("250:1", "/data", "/dev/mapper/x");
  const auto reasons = m.refusals();
  CHECK(has(reasons, "nvme1n1p3, a partition of nvme1n1, is held by dm-1"));
  CHECK(has(reasons, "dm-1, which is built on nvme1n1, is mounted on /data"));
}

TEST_CASE("what stands on other devices is not raw") {
  GuardedMachine m;
  m.disk("dm-0", "250:0", "X");
  m.hold("nvme1n1", "dm-0");
  CHECK(has(m.refusals({250, 0}, "X"), "is built on nvme1n1"));
}

TEST_CASE("swap") {
  GuardedMachine m;
  m.partition("nvme1n1", "nvme1n1p1", "259:9");
  m.swap("/dev/nvme1n1p1", "partition");
  CHECK(has(m.refusals(), "nvme1n1p1, a partition of nvme1n1, is swap space in use"));
}

TEST_CASE("signatures of partition tables, filesystems and members") {
  const GuardedMachine m;
  for (const char* type : {"gpt", "dos", "ext4", "xfs", "LVM2_member", "linux_raid_member",
                           "zfs_member", "bcache", "crypto_LUKS", "swap"})
    CHECK(one_with(m.refusals({{type, "kind"}}), std::string("holds a ") + type + " signature"));
  CHECK(m.refusals({{"gpt", "partition table"}, {"ext4", "filesystem"}}).size() == 2);
}

TEST_CASE("a read-only device, a loop device") {
  GuardedMachine m;
  m.add(m.dir("nvme1n1") + "/ro", "1\n");
  CHECK(one_with(m.refusals(), "read-only"));
  m.disk("loop0", "7:0");
  m.add(m.dir("loop0") + "/loop/backing_file", "/srv/image\n");
  CHECK(has(m.refusals({7, 0}, "x"), "loop device over /srv/image"));
}

TEST_CASE("the same unit by another path that is in use") {
  GuardedMachine m;
  m.add(m.dir("nvme1n1") + "/wwid", "naa.5000\n");
  m.disk("sdx", "65:0", "SN1");
  m.add(m.dir("sdx") + "/wwid", "naa.5000\n");
  CHECK(m.refusals().empty());
  m.mount("65:0", "/san", "/dev/sdx");
  CHECK(one_with(m.refusals(), "another path to the same unit (naa.5000): sdx is mounted on /san"));
}

TEST_CASE("what the kernel does not know is not written") {
  CHECK(one_with(GuardedMachine().refusals({1, 1}, "SN1"), "says nothing of the block device 1:1"));
}

TEST_CASE("files: links, hard links, swap files, backing files, other kinds") {
  GuardedMachine m;
  const auto path = [&](const char* name) { return m.fs().resolve(name).string(); };
  m.add("/data/file", "precious");
  CHECK(why_not_overwrite(m.fs(), path("/data/file")).empty());

  std::filesystem::create_symlink("file", path("/data/link"));
  CHECK(one_with(why_not_overwrite(m.fs(), path("/data/link")), "symbolic link to file"));

  std::filesystem::create_hard_link(path("/data/file"), path("/data/second"));
  CHECK(one_with(why_not_overwrite(m.fs(), path("/data/file")), "2 names"));
  std::filesystem::remove(path("/data/second"));

  m.swap(path("/data/file"), "file");
  CHECK(one_with(why_not_overwrite(m.fs(), path("/data/file")), "swap space in use"));
  m.remove("/proc/swaps");

  m.disk("loop3", "7:3");
  m.add(m.dir("loop3") + "/loop/backing_file", path("/data/file") + "\n");
  CHECK(one_with(why_not_overwrite(m.fs(), path("/data/file")), "loop device loop3"));

  REQUIRE(::mkfifo(path("/data/fifo").c_str(), 0600) == 0);
  CHECK(one_with(why_not_overwrite(m.fs(), path("/data/fifo")), "neither a regular file"));
  CHECK(one_with(why_not_overwrite(m.fs(), "/dev/null"), "neither a regular file"));
  CHECK(one_with(why_not_overwrite(m.fs(), path("/data")), "neither a regular file"));
  CHECK(has(why_not_overwrite(m.fs(), "/proc/self/oom_score_adj"), "kernel's own"));
}

TEST_CASE("directories that are no storage") {
  CHECK(has(why_not_make_in("/"), "root of the system"));
  CHECK(has(why_not_make_in("/proc/.."), "root of the system"));
  CHECK(has(why_not_make_in("/proc/self"), "kernel's own"));
  CHECK(has(why_not_make_in("/sys/kernel"), "kernel's own"));
  CHECK(one_with(why_not_make_in("/dev"), "belongs to the system (/dev)"));
  CHECK(one_with(why_not_make_in("/etc"), "belongs to the system (/etc)"));
  CHECK(one_with(why_not_make_in("/usr/share/doc"), "belongs to the system (/usr)"));
  CHECK(why_not_make_in("/tmp").empty());
  struct stat dev {
  }, shm{};
  // What is mounted below is storage of its own.
  if (::stat("/dev", &dev) == 0 && ::stat("/dev/shm", &shm) == 0 && dev.st_dev != shm.st_dev)
    CHECK(why_not_make_in("/dev/shm").empty());
}

TEST_CASE("a permission for a device is none for a file") {
  GuardedMachine m;
  m.add("/data/file", "precious");
  const std::string file = m.fs().resolve("/data/file").string();
  CHECK_THROWS_AS(writable_target(m.fs(), file, {.serial = "SN1"}), UsageError);
  CHECK_NOTHROW(writable_target(m.fs(), file, {.overwrite = true}));
  CHECK_THROWS_AS(writable_target(m.fs(), file + "x", {.overwrite = true}), UsageError);
}

TEST_CASE("what is opened for writing is what was looked at, whoever takes its place meanwhile") {
  GuardedMachine m;
  m.add("/data/file", "precious");
  m.add("/data/other", "victim");
  const std::filesystem::path file = m.fs().resolve("/data/file");
  const std::filesystem::path other = m.fs().resolve("/data/other");
  const WritableTarget target = writable_target(m.fs(), file.string(), {.overwrite = true});
  CHECK_FALSE(target.is_device());
  CHECK(Fd(target.open(O_RDWR)).open());

  std::filesystem::remove(file);
  CHECK(target.open(O_RDWR) == -1);
  std::filesystem::create_symlink(other, file);
  CHECK(target.open(O_RDWR) == -1);
  std::filesystem::remove(file);
  std::filesystem::create_hard_link(other, file);
  CHECK_THROWS_AS(target.open(O_RDWR), Error);
}
