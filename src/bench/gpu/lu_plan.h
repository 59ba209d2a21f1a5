#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "model/gpu_sku.h"

namespace cb {

// Columns of a panel that suit this order: products of the update reach their rate with many, and
// the panels take less of the time with few.
int64_t gpu_lu_block(int64_t order);
// Elements from one column to the next.
int64_t gpu_lu_distance(int64_t order);
// Bytes of one GPU: the matrix, the rows that a step exchanges, and what the check needs.
int64_t gpu_lu_bytes(int64_t order, int64_t block);
// The largest order, a multiple of 256, that fits into `free_bytes` with what the driver and
// the library take themselves; 256 at least. `block` 0: gpu_lu_block() of the order.
int64_t gpu_lu_order(int64_t free_bytes, int64_t block);

// The reason why fp64 says nothing about this GPU: its maker states no or about 1 TFLOP/s of it,
// or, of a product that the table does not know (null), chips of its compute capability (86
// for 8.6) have next to no units for it. Empty for others.
Said weak_fp64(const GpuSku* sku, const std::string& name, int capability);

}  // namespace cb
