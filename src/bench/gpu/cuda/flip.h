#pragma once

#include "sys/gpu/cuda/cuda.h"

namespace cb {

// Flips `bits` of one byte on the device and waits, to prove that a check sees it.
void flip_on_device(void* at, unsigned char bits, const cuda::Stream& stream);

}  // namespace cb
