#include "sys/storage/nvme.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <linux/nvme_ioctl.h>

#include "block_tree.h"

using namespace cb;
using cb::test::BlockTree;

namespace {

using Page = std::array<std::byte, nvme::kSmartBytes>;

void put(std::byte* page, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) page[at + i] = static_cast<std::byte>(value >> 8 * i);
}

}  // namespace

TEST_CASE("the SMART log's fields are where the specification has them") {
  Page page{};
  put(page.data(), 0, 0x05, 1);
  put(page.data(), 1, 273 + 41, 2);
  put(page.data(), 3, 97, 1);
  put(page.data(), 4, 10, 1);
  put(page.data(), 5, 3, 1);
  put(page.data(), 32, 2000, 8);
  put(page.data(), 48, 1000, 8);
  put(page.data(), 64, 123456789012, 8);
  put(page.data(), 144, 7, 8);
  put(page.data(), 160, 2, 8);
  put(page.data(), 176, 11, 8);
  put(page.data(), 192, 4, 4);
  put(page.data(), 196, 1, 4);
  put(page.data(), 220, 5, 4);
  put(page.data(), 228, 90, 4);
  const nvme::SmartLog log = nvme::parse_smart(page);
  CHECK(log.critical_warning == 5);
  CHECK(nvme::critical_warning_text(5) == "spare below its threshold, reliability degraded");
  CHECK(nvme::critical_warning_text(0).empty());
  CHECK(log.temperature_celsius == 41);
  CHECK(log.available_spare_percent == 97);
  CHECK(log.spare_threshold_percent == 10);
  CHECK(log.percentage_used == 3);
  CHECK(log.read_bytes == 2000 * 512000.0);
  CHECK(log.written_bytes == 1000 * 512000.0);
  CHECK(log.read_commands == 123456789012.0);
  CHECK(log.unsafe_shutdowns == 7);
  CHECK(log.media_errors == 2);
  CHECK(log.error_log_entries == 11);
  CHECK(log.warning_temperature_seconds == 240);
  CHECK(log.critical_temperature_seconds == 60);
  CHECK(log.light_throttle_count == 0);
  CHECK(log.heavy_throttle_count == 5);
  CHECK(log.heavy_throttle_seconds == 90);
}

TEST_CASE("the command asks the controller for the log of all namespaces") {
  const auto send = [](const std::string& device, nvme_passthru_cmd& c) {
    CHECK(device == "/dev/nvme3");
    CHECK(c.opcode == 0x02);
    CHECK(c.nsid == 0xffffffff);
    CHECK(c.data_len == 512);
    CHECK(c.cdw10 == (127u << 16 | 2u));
    put(reinterpret_cast<std::byte*>(c.addr), 160, 9, 8);
    return 0;
  };
  const auto got = nvme::read_smart("nvme3", send);
  REQUIRE(got.value);
  CHECK(got.value->media_errors == 9);
}

TEST_CASE("what cannot be read says why and gives no value") {
  const auto answer = [](int result) {
    return nvme::read_smart("nvme0",
                            [result](const std::string&, nvme_passthru_cmd&) { return result; });
  };
  CHECK_FALSE(answer(-EACCES).value);
  CHECK(answer(-EACCES).why.text().find("/dev/nvme0 needs the rights of root") == 0);
  CHECK(answer(-ENODEV).why == "/dev/nvme0: No such device");
  CHECK(answer(0x2002).why == "/dev/nvme0 answered with NVMe status 0x2002");
}

TEST_CASE("identify") {
  const auto send = [](const std::string&, nvme_passthru_cmd& c) {
    CHECK(c.opcode == 0x06);
    CHECK(c.cdw10 == 1);
    auto* page = reinterpret_cast<std::byte*>(c.addr);
    std::memset(page + 4, ' ', 68);
    std::memcpy(page + 4, "S64G", 4);
    std::memcpy(page + 24, "Model 9", 7);
    std::memcpy(page + 64, "1.2", 3);
    put(page, 266, 273 + 70, 2);
    return 0;
  };
  const auto got = nvme::read_identity("nvme0", send);
  REQUIRE(got.value);
  CHECK(got.value->serial == "S64G");
  CHECK(got.value->model == "Model 9");
  CHECK(got.value->firmware == "1.2");
  CHECK(got.value->warning_celsius == 70);
  CHECK_FALSE(got.value->critical_celsius);
}

TEST_CASE("the controllers of a namespace, alone and with multipath, and their links") {
  BlockTree tree;
  tree.disk("sda", "8:0", "A");
  CHECK(nvme::controllers_of(tree.fs(), *block::find(tree.fs(), "sda")).empty());

  tree.disk("nvme0n1", "259:0");
  const auto link = [&](const std::string& target) {
    std::filesystem::create_directory_symlink(target,
                                              tree.fs().resolve(tree.dir("nvme0n1") + "/device"));
  };
  link("../../nvme/nvme0");
  const auto disk = *block::find(tree.fs(), "nvme0n1");
  CHECK(nvme::controllers_of(tree.fs(), disk) == std::vector<std::string>{"nvme0"});
  tree.remove(tree.dir("nvme0n1") + "/device");
  link("../../nvme-subsystem/nvme-subsys0");
  for (const char* name : {"nvme0", "nvme1", "nvme0n1", "serial"})
    tree.add(std::string("/sys/class/nvme-subsystem/nvme-subsys0/") + name, "");
  CHECK(nvme::controllers_of(tree.fs(), disk) == std::vector<std::string>{"nvme0", "nvme1"});

  CHECK_FALSE(nvme::link_of(tree.fs(), "nvme0"));
  const std::string dir = "/sys/class/nvme/nvme0/device/";
  tree.add(dir + "current_link_speed", "16.0 GT/s PCIe\n");
  tree.add(dir + "current_link_width", "4\n");
  tree.add(dir + "max_link_speed", "16.0 GT/s PCIe\n");
  tree.add(dir + "max_link_width", "4\n");
  CHECK_FALSE(nvme::link_of(tree.fs(), "nvme0")->below_maximum());
  tree.add(dir + "current_link_width", "2\n");
  CHECK(nvme::link_of(tree.fs(), "nvme0")->below_maximum());
}
