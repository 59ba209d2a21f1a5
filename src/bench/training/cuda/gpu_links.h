#pragma once

#include <memory>
#include <vector>

#include "bench/training/cuda/gpu_lane.h"
#include "bench/training/group.h"

namespace cb::training {

// How the GPUs of a training exchange, one a rank: a lane for the ranks that share matrices, one
// for the replicas, and for each neighbour in the pipeline one a direction, because in 1F1B two
// neighbours send to each other at the same time.
class GpuLinks {
 public:
  // Collective over the ranks of tools.context, which must be layout.ranks().
  GpuLinks(const LaneTools& tools, const Layout& layout);
  ~GpuLinks();
  GpuLinks(const GpuLinks&) = delete;
  GpuLinks& operator=(const GpuLinks&) = delete;

  Fabric<float>& fabric() { return fabric_; }
  // Where this rank has failed: its peers do not wait for it.
  void abort() noexcept;
  // Bytes of the GPU for messages to other stages, at most.
  static double buffer_bytes(const Layout& layout, int64_t elements);

 private:
  Lane* add(int colour, int key, const Said& ranks, bool used);
  void add_pipeline(const Layout& layout, const Coordinates& at);
  void connect_stages();

  LaneTools tools_;
  // A lane between stages, and whether this rank sends by it.
  struct OneWay {
    Lane* lane;
    bool sends;
  };

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<OneWay> between_stages_;  // in an order that both ends of each have
  Fabric<float> fabric_;
};

}  // namespace cb::training
