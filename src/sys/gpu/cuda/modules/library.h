// CUDA modules as files: where they are looked for and what each has.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/module_table.h"

namespace cb::cuda {

// A module that was opened and is of this program.
struct Module {
  std::string path;
  const kernels::CudaTable* table = nullptr;

  std::string file() const;  // its name without folders
  int major() const { return table->runtime / 1000; }
  // True if a driver that knows CUDA `driver` can run this runtime. Within a major version any can.
  bool runs_on_driver(int driver) const { return driver >= major() * 1000; }
  // True if it has machine code for that compute capability.
  bool has_code_for(int capability) const;
  // True if such a driver can compile code for that compute capability from the module's PTX.
  bool has_ptx_for(int capability, int driver) const;
};

// A file that is there and cannot be used.
struct UnusableModule {
  Said why;
  Said step;
};

// What was found.
struct Modules {
  std::vector<Module> found;  // newest runtime first
  std::vector<UnusableModule> unusable;
  std::vector<std::string> folders;  // where was looked
};

// Opens the module that CLUSTERBENCH_CUDA_MODULE names, or all that lie beside the program or in
// ../lib/clusterbench from there. Calls nothing of CUDA.
Modules find_modules();

}  // namespace cb::cuda
