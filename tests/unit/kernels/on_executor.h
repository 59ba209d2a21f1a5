// Runs launchers of real kernels on the executor: in order and in orders that seeds draw.
#pragma once

#include <cstdint>

#include <doctest/doctest.h>

#include "tests/device_executor/executor.h"
#include "tests/device_executor/memory.h"

namespace on_executor {

using device_executor::DeviceArray;

// Calls `test` with each order; what the executor finds wrong is a Fault, which fails the test.
template <typename Test>
void in_every_order(Test test) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    const device_executor::WithSettings with({.shuffled = seed != 0, .seed = seed});
    test();
  }
}

}  // namespace on_executor
