#pragma once

#include <string>

#include "core/inventory.h"
#include "sys/os/fs_root.h"

namespace cb::inventory {

// What a PCI function says of itself in its vital product data (PCI Local Bus Specification 3.0,
// appendix I). Empty texts: it does not say.
struct VitalProductData {
  std::string product, part_number, serial;
};

// Reads the bytes of /sys/bus/pci/devices/…/vpd. What is damaged or cut off says nothing more.
VitalProductData parse_vpd(std::string_view bytes);

// Adds product, part_number and serial. Only root may read them: else the reason.
void put_vpd(Part& part, const FsRoot& fs, const std::string& address);

}  // namespace cb::inventory
