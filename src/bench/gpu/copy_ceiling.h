#pragma once

#include <optional>

#include "core/inventory.h"
#include "core/result.h"
#include "model/gpu_sku.h"

namespace cb {

// What the GPU's PCIe link carries at most as it was built: the generation and the lanes that the
// GPU has, not those that it negotiated, so that a GPU in half a slot is seen. `gpu` is its part of
// the inventory. Where that does not tell, what was seen during the copies; nothing without either.
// `ways` is 2 where both directions are counted.
std::optional<Ceiling> host_copy_ceiling(const Part* gpu, std::optional<double> generation,
                                         std::optional<double> lanes, double ways);

// What a copy between two GPUs carries at most: NVLink where the topology shows one between them
// (or does not tell and the product has it), else PCIe as built.
std::optional<Ceiling> peer_copy_ceiling(const GpuSku* sku, const Part* gpu, unsigned peer_index,
                                         double ways);

}  // namespace cb
