#pragma once

#include <optional>

namespace cb {

// PCIe payload ceiling in one direction: GT/s × lanes × line code (8b/10b up to generation 2,
// 128b/130b up to 5, 242/256 from 6 on) and a TLP of 256 bytes payload with 24 bytes around it
// (PCI Express Base Specification 5.0, §2.2: header 16 with 64-bit address, framing and CRC 8).
// Nothing for an unknown generation or no lanes.
std::optional<double> pcie_bytes_per_second(int generation, int lanes);

}  // namespace cb
