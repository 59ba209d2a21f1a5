#pragma once

#include "core/error.h"
#include "sys/os/dl.h"

namespace cb::cublaslt {

// Opens the library of cuBLASLt: the file that CLUSTERBENCH_CUBLASLT_LIBRARY names, or the first
// one that opens. That of the driver's major version of CUDA is tried first (0: not known), because
// CUDA 13's library does not start on a driver of CUDA 12. Calls nothing in it.
DynamicLibrary open_file(int driver_major);

// Returns why no product can come from the library on a driver of that major version of CUDA
// (0: not known); empty where nothing speaks against it. Asks the library for its version only.
Said why_unfit(const DynamicLibrary& library, int driver_major);

}  // namespace cb::cublaslt
