#pragma once

#include <optional>

namespace cb {

// PCIe payload ceiling in one direction, in bytes per second: GT/s × lanes × line code (8b/10b up
// to generation 2, 128b/130b up to 5) and a TLP of 256 bytes payload with 24 bytes around it (PCI
// Express Base Specification 5.0, §2.2: header 16 with 64-bit address, framing and CRC 8). From
// generation 6 on, a flit of 256 bytes holds 236 of packets, with 6 for the link, 8 of CRC and 6 of
// error correction (Base Specification 6.0, §4.2.3): a packet then has only its header around it.
// Nothing for an unknown generation or less than one lane.
std::optional<double> pcie_bytes_per_second(int generation, int lanes);

}  // namespace cb
