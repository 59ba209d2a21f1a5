#include "model/xid.h"

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
