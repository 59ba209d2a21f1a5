#include "model/pcie.h"

namespace cb {

std::optional<double> pcie_bytes_per_second(int generation, int lanes) {
  constexpr double kPayload = 256, kHeader = 16, kFraming = 8;
  constexpr double kTransfers[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (generation < 1 || generation > 6 || lanes < 1) return std::nullopt;
  const bool flits = generation >= 6;
  const double encoding = generation <= 2 ? 8.0 / 10 : flits ? 236.0 / 256 : 128.0 / 130;
  const double around = flits ? kHeader : kHeader + kFraming;
  return kTransfers[generation - 1] * lanes * encoding / 8 * kPayload / (kPayload + around);
}

}  // namespace cb
