// Memory modules out of SMBIOS tables, with offsets entered from DMTF DSP0134 3.7, section 7.18.
#include <doctest/doctest.h>

#include "sys/inventory/inventory.h"
#include "tree.h"

using namespace cb;
using cb::test::Tree;

namespace {

// A structure of type 17 and its texts.
struct Device {
  unsigned size_mebibytes = 0;  // 0: nothing in the slot
  unsigned char type = 0x22;
  unsigned rated = 4800, used = 4800;
  unsigned char length = 0x5c;

  std::string bytes() const {
    std::string out(length, '\0');
    out[0] = 17;
    out[1] = static_cast<char>(length);
    put(out, 0x0c, size_mebibytes < 0x7fff ? size_mebibytes : 0x7fff, 2);
    put(out, 0x1c, size_mebibytes < 0x7fff ? 0 : size_mebibytes, 4);
    put(out, 0x12, type, 1);
    put(out, 0x15, rated < 0xffff ? rated : 0xffff, 2);
    put(out, 0x20, used < 0xffff ? used : 0xffff, 2);
    put(out, 0x54, rated < 0xffff ? 0 : rated, 4);
    put(out, 0x58, used < 0xffff ? 0 : used, 4);
    return out + std::string("DIMM_A1\0CPU0\0\0", 14);
  }
  static void put(std::string& to, size_t at, unsigned value, size_t size) {
    for (size_t i = 0; i < size && at + i < to.size(); ++i)
      to[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
  }
};

const std::string kOther{"\x04\x06\x01\0ab\0\0", 8};
const std::string kEnd{"\x7f\x04\xff\0\0\0", 6};

std::string attribute(const std::string& table, const char* name) {
  const Tree tree;
  tree.add("/proc/meminfo", "MemTotal: 1024 kB\n");
  tree.add("/sys/firmware/dmi/tables/DMI", table);
  const HostInventory host = collect_inventory(tree.fs(), "n1");
  return text_of(host.find("memory"), name).value_or("absent");
}

std::string modules_of(const std::string& table) { return attribute(table, "modules"); }

}  // namespace

TEST_CASE("equal modules are counted, and empty slots too") {
  const std::string table = kOther + Device{65536}.bytes() + Device{}.bytes() +
                            Device{65536}.bytes() + kOther + kEnd + Device{65536}.bytes();
  CHECK(modules_of(table) == "2 × 64G DDR5 4800 MT/s");
  CHECK(attribute(table, "empty_slots") == "1");
}

TEST_CASE("a module that is used below its rate says so, and stands apart") {
  CHECK(modules_of(
            Device{.size_mebibytes = 32768, .type = 0x1a, .rated = 3200, .used = 2933}.bytes() +
            Device{.size_mebibytes = 32768, .type = 0x1a, .rated = 3200, .used = 3200}.bytes()) ==
        "1 × 32G DDR4 3200 MT/s; 1 × 32G DDR4 3200 MT/s, used at 2933");
}

TEST_CASE("sizes and rates in every form, and what the firmware does not know") {
  CHECK(modules_of(Device{.size_mebibytes = 16384}.bytes()) == "1 × 16G DDR5 4800 MT/s");
  std::string small = Device{}.bytes();
  Device::put(small, 0x0c, 0x8000 | 512, 2);  // 512 KiB
  CHECK(modules_of(small) == "1 × 512K DDR5 4800 MT/s");
  std::string unknown = Device{}.bytes();
  Device::put(unknown, 0x0c, 0xffff, 2);
  CHECK(modules_of(unknown) == "1 × ?");
  CHECK(modules_of(Device{1024, 0x22, 0x10000, 0x10001}.bytes()) ==
        "1 × 1G DDR5 65536 MT/s, used at 65537");
  CHECK(modules_of(Device{1024, 0, 0, 0}.bytes()) == "1 × 1G");
  CHECK(modules_of(Device{1024, 0, 0, 4400}.bytes()) == "1 × 1G 4400 MT/s");
  // Of SMBIOS 2.3, which ends before the rate that is used.
  CHECK(modules_of(Device{1024, 0x18, 1600, 1600, 0x1b}.bytes()) == "1 × 1G DDR3 1600 MT/s");
}

TEST_CASE("tables that are damaged or of no memory give what stands before, or nothing") {
  const std::string good = Device{1024}.bytes();
  for (size_t n = 0; n < good.size(); ++n) {
    const std::string text = modules_of(good + good.substr(0, n));
    CHECK_MESSAGE((text.starts_with("1 × 1G") || text.starts_with("2 × 1G")), n);
  }
  CHECK(modules_of(good + std::string("\x11\x03\0\0\0\0", 6)) == "1 × 1G DDR5 4800 MT/s");
  CHECK(modules_of(kOther + kEnd) == "absent");
  CHECK(attribute(kOther + kEnd, "empty_slots") == "absent");
}
