#include "bench/gpu/measure.h"
#include "sys/gpu/cuda/cuda.h"
#include "sys/os/deadline_call.h"

namespace cb {

std::string why_no_gpu(const FsRoot&) {
  constexpr double kDriverSeconds = 10;  // it starts in two where there are eight GPUs
  const auto found = call_with_deadline<std::string>(kDriverSeconds, [] {
    const auto devices = cuda::devices();
    const auto* absent = std::get_if<cuda::Absent>(&devices);
    return absent == nullptr ? std::string() : absent->reason;
  });
  return found.value_or("CUDA does not answer within 10 s; next: look at nvidia-smi");
}

}  // namespace cb
