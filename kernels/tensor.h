// Names for the instructions of tensor cores and of asynchronous copies, from compute capability
// 8.0 on. nvcc takes them from here; for the CPU they are the executor's (kernels/launch.h).
// Source: PTX ISA, "Matrix Multiply-Accumulate Instructions" and "cp.async".
#pragma once

#include <cstdint>

#include "kernels/launch.h"

#ifdef __CUDACC__

namespace cb::kernels {

// D = A·B + C with A of 16×16, B of 16×8 and C of 16×8 numbers of 32 bits. All lanes of the warp
// must come. With g = lane / 4 and t = lane % 4 a lane holds, two numbers a register, the lower
// column or row in the lower half:
//   a[0] A(g, 2t..)  a[1] A(g + 8, 2t..)  a[2] A(g, 2t + 8..)  a[3] A(g + 8, 2t + 8..)
//   b[0] B(2t.., g)  b[1] B(2t + 8.., g)
//   c[0], c[1] C(g, 2t), C(g, 2t + 1)  c[2], c[3] C(g + 8, 2t), C(g + 8, 2t + 1)
__device__ inline void multiply_bfloat16(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
        "f"(c[2]), "f"(c[3]));
}
__device__ inline void multiply_half(float (&d)[4], const std::uint32_t (&a)[4],
                                     const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]),
        "f"(c[2]), "f"(c[3]));
}

// The value itself. The compiler takes it for a new one at each call, so that it does not hold in
// registers what follows from it across a loop.
__device__ inline int anew(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// Two numbers rounded to bf16, to nearest and ties to even; `low` in the lower half.
__device__ inline std::uint32_t pack_bfloat16(float low, float high) {
  std::uint32_t out = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
// 2^x, off by at most 2⁻²² of it; what is too small for a normal number becomes 0.
__device__ inline float power_of_two(float x) {
  float out = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// Loads four 8×8 matrices of numbers of 16 bits from shared memory. All lanes must come; lane i
// gives the address of row i % 8 of matrix i / 8, aligned to 16 bytes. Register m of lane l gets
// the numbers 2(l % 4) and 2(l % 4) + 1 of row l / 4 of matrix m.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}
// The same with each matrix transposed: register m of lane l gets the numbers of rows 2(l % 4) and
// 2(l % 4) + 1 in column l / 4.
__device__ inline void load_matrices_transposed(std::uint32_t (&to)[4], const void* row) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}

// Begins to copy 16 bytes from global to shared memory, both aligned to 16. The copy belongs to
// the thread's group that is open. Nobody may use the bytes before copies_wait(), and another
// thread only after a barrier behind that.
__device__ inline void copy_begin(void* to_shared, const void* from) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
// Closes the group of the copies that the thread has begun since the last call.
__device__ inline void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most Left of the thread's closed groups, the newest, are not done.
template <int Left>
__device__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

}  // namespace cb::kernels

#else
#include <device_executor/tensor.h>
#endif
