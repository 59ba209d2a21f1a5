// The source and the tools of this binary; goes into every result document.
#pragma once

#include <string_view>

namespace cb {

struct BuildInfo {
  std::string_view version;     // project version, e.g. "0.1.0"
  std::string_view commit;      // full git hash, "unknown" outside a checkout
  bool dirty = false;           // true if tracked files differed from the commit
  std::string_view compiler;    // e.g. "GNU 12.2.0"
  std::string_view build_type;  // e.g. "Release"
  std::string_view cuda;        // version of nvcc; "modules"; "none" without kernels
  std::string_view sanitizers;  // e.g. "address,undefined", "none"
};

// Returns the facts that were recorded when this binary was built.
const BuildInfo& build_info();

}  // namespace cb
