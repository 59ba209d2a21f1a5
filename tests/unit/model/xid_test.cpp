#include "model/xid.h"

#include <map>
#include <vector>

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("Xids that end a GPU are fatal, a program's own are not") {
  for (const int xid : {48, 64, 74, 79, 94, 95, 119, 120, 140, 149}) {
    CAPTURE(xid);
    CHECK(classify_xid(xid) == XidKind::fatal);
    CHECK_FALSE(xid_meaning(xid).empty());
  }
  for (const int xid : {13, 43, 45}) CHECK(classify_xid(xid) == XidKind::application);
  for (const int xid : {31, 63, 154}) CHECK(classify_xid(xid) == XidKind::suspicious);
  CHECK(classify_xid(9999) == XidKind::unknown);
  CHECK(xid_meaning(9999) == "");
}

// A node is failed by these numbers: one that changes is changed here too, on purpose.
TEST_CASE("every number of the table, entered twice") {
  std::map<XidKind, std::vector<uint64_t>> found;
  for (uint64_t xid = 0; xid < 1000; ++xid) {
    if (classify_xid(xid) != XidKind::unknown) found[classify_xid(xid)].push_back(xid);
    CHECK(xid_meaning(xid).empty() == (classify_xid(xid) == XidKind::unknown));
  }
  CHECK(found[XidKind::application] == std::vector<uint64_t>{13, 43, 45, 69});
  CHECK(found[XidKind::suspicious] == std::vector<uint64_t>{31, 32, 38, 63, 121, 137, 154});
  CHECK(found[XidKind::fatal] == std::vector<uint64_t>{46,  48,  54,  62,  64,  74,  79,  92,  94,
                                                       95,  109, 110, 119, 120, 136, 140, 143, 144,
                                                       145, 146, 147, 148, 149, 150, 155, 156, 157,
                                                       158, 167, 168, 169, 171, 172});
}

TEST_CASE("Xids are found in a kernel log with the GPU that they belong to") {
  const auto found = parse_xids(
      "6,1,1,-;usb 1-1: new device\n"
      "4,2,2,-;NVRM: Xid (PCI:0000:9B:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
      "4,3,3,-;NVRM: Xid (PCI:0000:1b:00): 13, pid=1234, Graphics Exception\n"
      "4,4,4,-;NVRM: Xid (PCI:broken\n"
      "4,5,5,-;NVRM: Xid (PCI:0000:1b:00): none\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].pci_address == "0000:9b:00.0");
  CHECK(found[0].xid == 79);
  CHECK(found[1].pci_address == "0000:1b:00.0");
  CHECK(found[1].xid == 13);
  CHECK(parse_xids("").empty());
}
