// The half of kernels/together.h for the CPU.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace device_executor {

// Of a thread that sees too little in the word: until another thread may have raised it.
void await_more(const std::uint64_t* word, std::uint64_t value, Site site);

}  // namespace device_executor

namespace cb::kernels {

template <auto Kernel, typename... Arguments>
int launch_together(const Shape& shape, void* stream, const Arguments&... arguments) {
  static_assert(std::is_same_v<decltype(Kernel), void (*)(Arguments...)>);
  auto made = device_executor::with_arguments<Kernel>(Kernel, arguments...);
  made.blocks = shape.blocks;
  made.threads = shape.threads;
  made.shared_bytes = shape.shared_bytes;
  made.together = true;
  return device_executor::submit(std::move(made), stream);
}

inline void announce(std::uint64_t* word, std::uint64_t value) {
  __threadfence();
  atomicExch(word, value);
}
inline void await(const std::uint64_t* word, std::uint64_t value,
                  device_executor::Site site = {__builtin_FILE(), __builtin_LINE()}) {
  for (;;) {
    device_executor::begin_atomic(word, false);
    const bool enough = *word >= value;
    device_executor::end_atomic();
    if (enough) return;
    device_executor::await_more(word, value, site);
  }
}

}  // namespace cb::kernels
