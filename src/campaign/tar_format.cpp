#include "campaign/tar_format.h"

namespace cb {

unsigned tar_sum(const TarHeader& header) {
  unsigned sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool own = i >= kTarSum.at && i < kTarSum.at + kTarSum.size;
    sum += own ? unsigned{' '} : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

}  // namespace cb
