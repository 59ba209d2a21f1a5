// What is said where there is no GPU.
#include "bench/network/verbs/memory.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("GPUs are there, or it is said why not and what to do") {
  const verbs::Gpus gpus = verbs::visible_gpus();
  CHECK(gpus.absent.empty() == !gpus.pci_addresses.empty());
  if (!gpus.absent.empty()) CHECK(gpus.absent.text().find("--memory host") != std::string::npos);
}
