#include "bench/collectives/nccl/environment.h"

#include <cstdlib>

#include <fmt/format.h>

namespace cb::nccl {

const std::vector<std::string>& transport_names() {
  static const std::vector<std::string> names{"p2p", "shm", "net"};
  return names;
}

// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
Environment transport_environment(const std::string& transport) {
  if (transport == "p2p") return {{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_SHM_DISABLE", "1"}};
  // NVLS is the switch's own path between GPUs: without P2P it must go too.
  if (transport == "shm") return {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
  return {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
}

void apply(const Environment& environment, Problems& problems) {
  for (const auto& [name, value] : environment) {
    const char* set = std::getenv(name.c_str());
    if (set != nullptr && value != set)
      problems.add(name,
                   fmt::format("is set to '{}', and this run needs '{}': unset it", set, value));
    else
      ::setenv(name.c_str(), value.c_str(), 1);
  }
}

std::string to_text(const Environment& environment) {
  std::string out;
  for (const auto& [name, value] : environment)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

}  // namespace cb::nccl
