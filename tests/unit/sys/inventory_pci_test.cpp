// PCI details: link speeds, addresses, and ACS from configuration space.
#include <doctest/doctest.h>

#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"
#include "tree.h"

using namespace cb;
using namespace cb::inventory;
using cb::test::Tree;

TEST_CASE("PCIe generations by transfer rate") {
  CHECK(pcie_generation("2.5 GT/s PCIe") == 1);
  CHECK(pcie_generation("5.0 GT/s PCIe") == 2);
  CHECK(pcie_generation("8.0 GT/s PCIe") == 3);
  CHECK(pcie_generation("16.0 GT/s PCIe") == 4);
  CHECK(pcie_generation("32.0 GT/s PCIe") == 5);
  CHECK(pcie_generation("64.0 GT/s PCIe") == 6);
  CHECK_FALSE(pcie_generation("Unknown"));
  CHECK_FALSE(pcie_generation("2.4 GT/s PCIe"));
}

TEST_CASE("PCI addresses") {
  CHECK(is_pci_address("0000:9b:00.0"));
  CHECK(is_pci_address("10000:e1:00.0"));  // behind a VMD
  CHECK_FALSE(is_pci_address("0000:9b:00"));
  CHECK_FALSE(is_pci_address("0000:9g:00.0"));
  CHECK_FALSE(is_pci_address("virtio1"));
}

TEST_CASE("number lists") {
  CHECK(number_list("0-2,8") == std::vector{0, 1, 2, 8});
  CHECK(number_list("").empty());
  CHECK(number_list("x,3").size() == 1);
  CHECK(number_list("0-2000000000").size() == 65536);
}

namespace {

// A configuration space with a list of extended capabilities: first one that is not ACS, then ACS
// with this control register.
std::string config_with_acs(unsigned char control) {
  std::string out(4096, '\0');
  const auto put32 = [&](size_t at, uint32_t v) {
    for (size_t i = 0; i < 4; ++i) out[at + i] = static_cast<char>(v >> (8 * i) & 0xFF);
  };
  put32(0x100, 0x0001U | 1U << 16 | 0x148U << 20);
  put32(0x148, 0x000DU | 1U << 16);
  out[0x148 + 6] = static_cast<char>(control);
  return out;
}

void add_bridge(const Tree& tree, const std::string& address, const std::string& config) {
  tree.add(pci_path(address, "class"), "0x060400\n");
  tree.add(pci_path(address, "config"), config);
}

}  // namespace

TEST_CASE("ACS is counted over all bridges") {
  const Tree tree;
  add_bridge(tree, "0000:00:01.0", config_with_acs(0));
  add_bridge(tree, "0000:00:02.0", config_with_acs(0x1d));
  add_bridge(tree, "0000:00:03.0", std::string(4096, '\0'));  // without the capability
  add_bridge(tree, "0000:00:04.0", std::string(256, '\0'));   // conventional PCI
  tree.add(pci_path("0000:00:05.0", "class"), "0x030200\n");  // no bridge
  const auto parts = acs_parts(tree.fs());
  REQUIRE(parts.size() == 1);
  CHECK(number_of(&parts[0], "bridges") == 4);
  CHECK(number_of(&parts[0], "bridges_capable") == 2);
  CHECK(number_of(&parts[0], "bridges_enabled") == 1);
}

TEST_CASE("without root ACS is not known, and not off") {
  const Tree tree;
  add_bridge(tree, "0000:00:01.0", std::string(64, '\0'));  // what the kernel gives without root
  const auto parts = acs_parts(tree.fs());
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].attributes.empty());
  CHECK(parts[0].unavailable.at("bridges_enabled").text().starts_with("needs root"));
}

TEST_CASE("a capability list that leads back into itself ends") {
  const Tree tree;
  std::string config(4096, '\0');
  config[0x100] = 1;
  config[0x102] = 1;
  config[0x103] = 0x10;  // next: 0x100
  add_bridge(tree, "0000:00:01.0", config);
  CHECK(number_of(&acs_parts(tree.fs()).at(0), "bridges_capable") == 0);
}
