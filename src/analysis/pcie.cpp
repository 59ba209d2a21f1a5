#include "analysis/pcie.h"

namespace cb {

std::optional<double> pcie_bytes_per_second(int generation, int lanes) {
  constexpr double kPayload = 256, kAround = 24;
  constexpr double kTransfers[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (generation < 1 || generation > 6 || lanes < 1) return std::nullopt;
  const double encoding = generation <= 2 ? 8.0 / 10 : generation <= 5 ? 128.0 / 130 : 242.0 / 256;
  return kTransfers[generation - 1] * lanes * encoding / 8 * kPayload / (kPayload + kAround);
}

}  // namespace cb
