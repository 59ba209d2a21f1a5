// Runs kernels on the CPU: each thread of a block is a fiber on one thread of the operating system.
// What it finds and what it cannot: docs/methods/kernels-on-the-cpu.md.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>
#include <device_executor/launch.h>

namespace device_executor {

struct Settings {
  // Blocks run in the order of their numbers, and threads in theirs until they wait; or else in an
  // order that the seed draws, with threads also interrupted at atomics.
  bool shuffled = false;
  std::uint64_t seed = 0;
  double deadline_seconds = 60;  // of a launch, in time of the processor
  // Looks for races and for accesses beside all memory, where the kernels are compiled so that they
  // tell.
  bool checked = true;
};

// What a kernel did wrong: kernel, block and thread, what it did, and where.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether a device takes the launch's shape.
bool possible(const Launch& launch);

// Runs the launch and returns when all threads have ended. Throws Fault. Returns a cudaError_t for
// a shape that no device takes.
int run(const Launch& launch, const Settings& settings);

// Whether this build sees each access of a kernel to memory, and so finds races and tells whose
// memory it was.
bool sees_accesses();

// For launches that run at once (immediate.cpp): the settings of all that follow while it lives.
class WithSettings {
 public:
  explicit WithSettings(const Settings& settings);
  ~WithSettings();
  WithSettings(const WithSettings&) = delete;
  WithSettings& operator=(const WithSettings&) = delete;

 private:
  Settings before_;
};

}  // namespace device_executor
