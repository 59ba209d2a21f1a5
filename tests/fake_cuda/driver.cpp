// A libcuda.so.1 that only says which CUDA it knows: `driver=` of CLUSTERBENCH_FAKE_CUDA (fake.h).
#include "tests/fake_cuda/fake.h"

extern "C" int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(fake::number("driver", -1, 13000));
  return 0;
}
