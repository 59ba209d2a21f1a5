#include "model/overlap.h"

namespace cb {

double exposed_seconds(const OverlapTimes& times) { return times.both - times.product; }

double hidden_share(const OverlapTimes& times) {
  return 1 - exposed_seconds(times) / times.collective;
}

}  // namespace cb
