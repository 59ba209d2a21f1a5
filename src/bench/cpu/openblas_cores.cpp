#include "bench/cpu/openblas_cores.h"

namespace cb {

#if defined(__x86_64__)

std::vector<std::string> openblas_cores() {
  std::vector<std::string> out;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (avx512) out.push_back("SkylakeX");
  if (avx512 && __builtin_cpu_supports("avx512bf16")) {
    out.push_back("Cooperlake");
    out.push_back("SapphireRapids");
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back("Zen");
    out.push_back("Haswell");
  } else if (__builtin_cpu_supports("avx")) {
    out.push_back("Sandybridge");
  } else {
    out.push_back("Nehalem");
  }
  return out;
}

#else

std::vector<std::string> openblas_cores() {
  return {"ARMV8", "NEOVERSEN1", "NEOVERSEV1", "NEOVERSEN2", "THUNDERX2T99"};
}

#endif

}  // namespace cb
