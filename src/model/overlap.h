#pragma once

namespace cb {

// Seconds of a product alone, of a collective alone, and of both begun at once until both are done.
struct OverlapTimes {
  double product = 0, collective = 0, both = 0;
};

// What the collective costs beside the product: both − product. Communication that is not hidden is
// called exposed (as in Megatron-LM's and DeepSpeed's reports of a training step).
double exposed_seconds(const OverlapTimes& times);

// 1 − (both − product) / collective: 1 if the collective costs nothing, 0 if it costs as much as
// alone, less than 0 if the two together take longer than one after the other.
double hidden_share(const OverlapTimes& times);

}  // namespace cb
