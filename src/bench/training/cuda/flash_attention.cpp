#include "bench/training/cuda/flash_attention.h"

#include "kernels/train.h"

namespace cb::training {

bool FlashAttention::takes(const AttentionShape& s) {
  constexpr int64_t kMostSequences = 65535;  // a grid's second side
  return kernels::train_flash_takes(s.dim) && s.heads % s.kv_heads == 0 && s.past == 0 &&
         s.batch <= kMostSequences && s.sequence <= kernels::train_flash_longest;
}

int64_t FlashAttention::dots_of(const AttentionShape& s) {
  return kernels::train_flash_dots(s.batch, s.sequence, s.heads);
}

void FlashAttention::narrow(const float* qkv, const AttentionShape& s) const {
  queue.launched(
      kernels::launch_train_narrow({qkv, narrow_qkv, 1, s.tokens(), s.stride(), s.stride(), 0},
                                   queue.stream().handle()),
      "train_narrow");
}

void FlashAttention::forward(const float* qkv, float* out, float* log_sums,
                             const AttentionShape& s) const {
  narrow(qkv, s);
  queue.launched(kernels::launch_train_flash(
                     {narrow_qkv, out, log_sums, s.batch, s.sequence, s.heads, s.kv_heads, s.dim},
                     queue.stream().handle()),
                 "train_flash");
}

void FlashAttention::backward(const float* qkv, const float* out, const float* dout,
                              const float* log_sums, float* dqkv, const AttentionShape& s) const {
  narrow(qkv, s);
  queue.launched(
      kernels::launch_train_flash_backward({narrow_qkv, out, dout, log_sums, dqkv, narrow_dout,
                                            dots, s.batch, s.sequence, s.heads, s.kv_heads, s.dim},
                                           queue.stream().handle()),
      "train_flash_backward");
}

}  // namespace cb::training
