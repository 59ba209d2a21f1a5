// What a decoder does to single elements: the same for whole arrays (train_rows.cu) and where a
// product ends (infer_layer.cu).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/launch.h"

namespace cb::kernels {

struct Turned {
  float low, high;
};
// Direction 1 turns the pair by the angle, −1 back.
__device__ inline Turned turned_by(float low, float high, float cosine, float sine,
                                   float direction) {
  return {low * cosine - direction * high * sine, high * cosine + direction * low * sine};
}

__device__ inline float swiglu_of(float gate, float up) { return gate / (1.0F + expf(-gate)) * up; }

// Infinite or NaN.
__device__ inline bool is_no_number(float value) {
  return (__float_as_uint(value) & 0x7f800000U) == 0x7f800000U;
}
__device__ inline void set_mark(float* mark) {
  atomicExch(reinterpret_cast<unsigned*>(mark), __float_as_uint(1.0F));
}

}  // namespace cb::kernels
