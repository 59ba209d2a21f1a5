#include "bench/gpu/cuda/flip.h"

#include "bench/gpu/cuda/session.h"

namespace cb {

void flip_on_device(void* at, unsigned char bits, const cuda::Stream& stream) {
  unsigned char byte = 0;
  cuda::fetch(&byte, at, 1, stream, kGpuHangSeconds, "planting a fault");
  cuda::fill(at, static_cast<uint8_t>(byte ^ bits), 1, stream);
  cuda::wait(stream, kGpuHangSeconds, "planting a fault");
}

}  // namespace cb
