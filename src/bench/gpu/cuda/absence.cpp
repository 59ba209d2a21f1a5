#include "bench/gpu/measure.h"
#include "sys/gpu/cuda/cuda.h"
#include "sys/os/deadline_call.h"

namespace cb {

Said why_no_gpu(const FsRoot&) {
  constexpr double kDriverSeconds = 10;  // the driver of eight GPUs starts in two
  const auto found = call_with_deadline<Said>(kDriverSeconds, [] {
    const auto devices = cuda::devices();
    const auto* absent = std::get_if<cuda::Absent>(&devices);
    return absent == nullptr ? Said() : absent->reason;
  });
  return found ? *found : said("gpu.silent");
}

}  // namespace cb
