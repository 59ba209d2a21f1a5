// What a launch costs: a kernel that does next to nothing.
#pragma once

#include <cstdint>

namespace cb::kernels {

// One thread adds one to *counter, in device memory; with a null counter the kernel is empty. In
// one stream the launches follow each other, so that the counter tells how many of them ran.
int launch_count(std::uint64_t* counter, void* stream);

}  // namespace cb::kernels
