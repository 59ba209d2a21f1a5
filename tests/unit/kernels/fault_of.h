// What the executor finds wrong with a launch.
#pragma once

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "tests/device_executor/executor.h"
#include "tests/device_executor/memory.h"

namespace fault_of_launch {

inline constexpr std::uint64_t kSeeds = 8;

// Empty: nothing, in the order that the seed draws; seed 0 is in order.
template <typename Launch>
std::string fault_of(std::uint64_t seed, Launch launch) {
  const device_executor::WithSettings with(
      {.shuffled = seed != 0, .seed = seed, .deadline_seconds = 5});
  try {
    const int code = launch();
    return code == 0 ? "" : "CUDA error " + std::to_string(code);
  } catch (const device_executor::Fault& fault) {
    return fault.what();
  }
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace fault_of_launch
