// The half of kernels/launch.h for the CPU: a launch keeps copies of the arguments and hands the
// kernel to whoever runs it, at once (tests/device_executor/immediate.cpp) or in a stream's turn
// (tests/fake_cuda/launches.cpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#define CB_SHARED(type, name)                          \
  type& name = *static_cast<std::add_pointer_t<type>>( \
      device_executor::shared_variable(#name, sizeof(type), alignof(type), {__FILE__, __LINE__}))

namespace device_executor {

// A kernel with its arguments.
struct Launch {
  std::string kernel;  // without namespace and template arguments
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
  bool together = false;       // all blocks are there at once
  std::shared_ptr<void> held;  // a std::tuple of the arguments
  std::size_t held_bytes = 0;
  std::vector<void*> arguments;             // each of them
  void (*run)(const void* held) = nullptr;  // what one thread does
};

// Returns a cudaError_t.
int submit(Launch launch, void* stream);

// The block's variable of that name and line; the first thread that asks makes it.
void* shared_variable(const char* name, std::size_t bytes, std::size_t alignment, Site site);
void* dynamic_shared_memory();

// Of "… Kernel = cb::kernels::{anonymous}::triad<true>; …", the word "triad".
std::string kernel_name(std::string_view pretty_function);

template <auto Kernel>
std::string name_of() {
  return kernel_name(__PRETTY_FUNCTION__);
}

// The kernel's own types decide what is kept, so that arguments are converted as for a call.
template <auto Kernel, typename... Parameters>
Launch with_arguments(void (*)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  using Tuple = std::tuple<Parameters...>;
  auto tuple = std::make_shared<Tuple>(arguments...);
  Launch out;
  out.kernel = name_of<Kernel>();
  std::apply([&](auto&... each) { (out.arguments.push_back(&each), ...); }, *tuple);
  out.held = std::move(tuple);
  out.held_bytes = sizeof(Tuple);
  out.run = [](const void* held) { std::apply(Kernel, *static_cast<const Tuple*>(held)); };
  return out;
}

}  // namespace device_executor

namespace cb::kernels {

struct Shape {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
};

template <auto Kernel, typename... Arguments>
int launch(const Shape& shape, void* stream, const Arguments&... arguments) {
  auto made = device_executor::with_arguments<Kernel>(Kernel, arguments...);
  made.blocks = shape.blocks;
  made.threads = shape.threads;
  made.shared_bytes = shape.shared_bytes;
  return device_executor::submit(std::move(made), stream);
}

template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(device_executor::dynamic_shared_memory());
}

inline std::uint32_t multiprocessor() { return device_executor::multiprocessor(); }
inline unsigned long long device_nanoseconds() { return device_executor::nanoseconds(); }
inline uint4 load_once(const void* from) { return *static_cast<const uint4*>(from); }
inline void store_streamed(double2* to, double2 value) { *to = value; }

}  // namespace cb::kernels
