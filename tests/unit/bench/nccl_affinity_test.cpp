// Which CPUs are near the GPUs of a rank, on a composed /sys.
#include "bench/collectives/nccl/affinity.h"

#include <doctest/doctest.h>

#include "../sys/tree.h"

using namespace cb;

namespace {

const Machine kTwoSockets{.cores = {{{0, 8}, 0}, {{1, 9}, 0}, {{4, 12}, 1}, {{5, 13}, 1}},
                          .nodes = {0, 1}};

}  // namespace

TEST_CASE("a rank goes to the CPUs of its GPUs' nodes, within what the launcher allows") {
  const test::Tree tree;
  tree.add("/sys/bus/pci/devices/0000:0f:00.0/numa_node", "0\n");
  tree.add("/sys/bus/pci/devices/0000:9b:00.0/numa_node", "1\n");
  tree.add("/sys/bus/pci/devices/0000:aa:00.0/numa_node", "-1\n");
  const FsRoot fs = tree.fs();
  const auto fit = [&](const std::vector<std::string>& gpus, const Machine& allowed) {
    return nccl::fit_to_devices(gpus, fs, allowed);
  };
  CHECK(fit({"0000:9b:00.0"}, kTwoSockets).cpus == std::vector<int>{4, 5, 12, 13});
  CHECK(fit({"0000:9b:00.0"}, kTwoSockets).text == "node 1, CPUs 4-5,12-13");
  CHECK(fit({"0000:9b:00.0"}, kTwoSockets).note.empty());
  CHECK(fit({"0000:0f:00.0", "0000:9b:00.0"}, kTwoSockets).cpus.size() == 8);
  // Half of a socket is allowed: that half.
  const Machine half{.cores = {{{0, 8}, 0}, {{4, 12}, 1}}, .nodes = {0, 1}};
  CHECK(fit({"0000:9b:00.0"}, half).cpus == std::vector<int>{4, 12});
  // Nothing known, nothing done.
  for (const char* unknown : {"0000:aa:00.0", "0000:bb:00.0", ""}) {
    CHECK(fit({unknown}, kTwoSockets).cpus.empty());
    CHECK(fit({unknown}, kTwoSockets).text.empty());
  }
}

TEST_CASE("a rank that is bound to the other socket is told, and stays where it was put") {
  const test::Tree tree;
  tree.add("/sys/bus/pci/devices/0000:9b:00.0/numa_node", "1\n");
  const Machine first{.cores = {{{0, 8}, 0}, {{1, 9}, 0}}, .nodes = {0}};
  const nccl::NumaFit fit = nccl::fit_to_devices({"0000:9b:00.0"}, tree.fs(), first);
  CHECK(fit.cpus.empty());
  CHECK(fit.text == "node 1, runs on node 0");
  CHECK(fit.note.find("bound to node 0 and its GPUs hang on node 1") != std::string::npos);
  CHECK(fit.note.find("--bind-to none") != std::string::npos);
}
