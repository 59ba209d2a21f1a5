#pragma once

#include <optional>

#include "core/inventory.h"
#include "core/result.h"
#include "model/gpu_sku.h"

namespace cb {

// The most that the GPU's PCIe link can carry, in bytes a second. It counts the generation and
// lanes that the GPU was built with, not those it negotiated, so that a GPU in half a slot is seen.
// `gpu` is the GPU's part of the inventory. If the inventory does not tell, `generation` and
// `lanes` as seen during the copies count; without either there is no ceiling. `ways` is 2 if both
// directions are counted.
std::optional<Ceiling> host_copy_ceiling(const Part* gpu, std::optional<double> generation,
                                         std::optional<double> lanes, double ways);

// The most that a copy between two GPUs can carry, in bytes a second: NVLink if the topology shows
// one between them (or does not tell and the product has it), else PCIe as built.
std::optional<Ceiling> peer_copy_ceiling(const GpuSku* sku, const Part* gpu, unsigned peer_index,
                                         double ways);

}  // namespace cb
