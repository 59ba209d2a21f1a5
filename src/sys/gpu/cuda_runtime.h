// Which CUDA runtime and kernels this program works with: those that are linked into it, or those
// of a module beside it, which is chosen by the driver (CLUSTERBENCH_CUDA_MODULES in
// CMakeLists.txt).
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace cb::cuda {

// What CUDA's driver says of itself.
struct Driver {
  int version = 0;     // the newest CUDA that it knows, 12020 for 12.2; 0: not known
  Said reason;         // why it is not known
  bool opens = false;  // the driver's library is there
};

// Asks the driver's library, which says its version before it looks at any device: this cannot hang
// on one.
const Driver& driver();

// The file that CLUSTERBENCH_CUDA_LIBRARY names in place of the driver's library; "" if it is not
// set.
std::string named_driver();

// The module that was chosen, or why there is none.
struct ModuleChoice {
  int driver = 0;    // newest CUDA that the driver knows, 12020 for 12.2; 0 without a driver
  int runtime = 0;   // CUDA of the module; 0: no module can be used
  std::string path;  // of the module; "" if there is none
  Said reason;       // why this one, or why none and what to do
  Said unusable;     // why files of modules that are there cannot be used; empty: all can
};

// True if runtime and kernels come from a module.
bool uses_modules();

// Chooses by the driver's version only: touches no device, so it cannot hang on one. Nothing if no
// module is needed: runtime and kernels are linked into the program, or it was built without CUDA.
std::optional<ModuleChoice> module_for_driver();

// The module that the GPU cases work with: it also has code for the devices here, as far as one
// has. The first call starts the driver.
std::optional<ModuleChoice> module_in_use();

// "12.2" for 12020.
std::string version_text(int version);

// The oldest driver for each major version of the runtime, from NVIDIA's table (CUDA compatibility
// guide).
const char* least_driver(int runtime_major);

}  // namespace cb::cuda
