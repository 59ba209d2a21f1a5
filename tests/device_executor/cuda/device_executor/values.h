// Numbers of the CUDA runtime that both its stand-in and the executor's headers use.
#pragma once

#include <cstddef>

namespace device_executor::values {

inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int invalid_configuration = 9;
inline constexpr int misaligned_address = 716;
inline constexpr int launch_failure = 719;
inline constexpr int cooperative_launch_too_large = 720;
inline constexpr int not_supported = 801;
inline constexpr int multiprocessor_count = 16;
inline constexpr std::size_t function_attributes_bytes = 256;  // at least the toolkit's

}  // namespace device_executor::values
