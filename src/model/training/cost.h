#pragma once

#include <cstdint>

#include "model/training/shape.h"

// What a training step costs by theory: floating-point operations, memory of a rank, bytes on the
// wire, and the pipeline's bubble. docs/methods/training.md.
namespace cb::training {

// How the ranks share the work: ranks = data · pipeline · tensor.
struct Layout {
  int data = 1;        // replicas
  int pipeline = 1;    // stages
  int tensor = 1;      // ranks that share each matrix, with sequence parallelism
  bool zero1 = false;  // optimizer state divided over the replicas (ZeRO-1, arXiv 1910.02054)

  int ranks() const { return data * pipeline * tensor; }
};

// The work of one replica in a step: `micro_batches` of `sequences` × `sequence` tokens each.
struct Batch {
  int64_t sequence = 0;
  int64_t sequences = 1;
  int64_t micro_batches = 1;

  int64_t micro_tokens() const { return sequence * sequences; }
  int64_t tokens() const { return micro_tokens() * micro_batches; }
};

enum class Mask { causal, full };

// Operations per token of forward and backward together: 6·N_mm + 6·L·s·H·d where only the causal
// half of the scores counts, 12 instead of the second 6 where all count. N_mm are the parameters of
// matmul_parameters(). Backward costs twice forward (PaLM, arXiv 2204.02311, appendix B).
double flops_per_token(const Shape& shape, int64_t sequence, Mask mask = Mask::causal);
// The same for what the hardware does when every layer is computed again in backward: one forward
// of the layers more; the head is not repeated.
double hardware_flops_per_token(const Shape& shape, int64_t sequence, bool recompute);

// Bytes of one rank. `weight_bytes` is an element of weights and of gradients: 2 for bf16, 4 for
// fp32.
struct Memory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;    // both moments, and the fp32 master where the weights are not fp32
  double activations = 0;  // kept between forward and backward
  double total() const { return weights + gradients + optimizer + activations; }
};

// The largest rank, which is on the first stage: it keeps the activations of `pipeline` micro-
// batches. Activations are those that src/bench/training keeps.
Memory memory_of_rank(const Shape& shape, const Layout& layout, const Batch& batch,
                      int weight_bytes, bool recompute);

// Bytes that one rank sends in a step, by kind.
struct Traffic {
  double data = 0;  // gradients and, with ZeRO-1, weights: 2·G·(d−1)/d, G = bytes of gradients
  double tensor = 0;    // 4 pairs of all_gather and reduce_scatter a layer and micro-batch, forward
                        // and backward together: 8·(t−1)/t·b·s·h elements
  double pipeline = 0;  // b·s·h/t elements over each boundary, in both directions
};
Traffic traffic_of_rank(const Shape& shape, const Layout& layout, const Batch& batch,
                        int element_bytes);

// Idle time of a stage over its working time, 1F1B: (p−1)/m (Narayanan et al., arXiv 2104.04473).
double bubble_of_ideal(int stages, int64_t micro_batches);
// The same over the whole step: (p−1)/(m+p−1).
double bubble_share(int stages, int64_t micro_batches);

}  // namespace cb::training
