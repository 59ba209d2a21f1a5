// The half of kernels/tensor.h for the CPU, which says what each does. Tensor cores add in an order
// and with roundings of their own; here a sum is rounded once.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>
#include <device_executor/narrow.h>

namespace device_executor {

// What the lanes of a warp bring to a multiplication, and take from it.
struct Fragments {
  const std::uint32_t* a;
  const std::uint32_t* b;
  const float* c;
  float* d;
  const NarrowFormat* format;
};
// The row that a lane brings to a load of four matrices, and its registers.
struct MatrixRow {
  std::uint32_t words[4];
  std::uint32_t* to;
  bool transposed;
};

void multiply_matrices(const Fragments& mine, Site site);
void load_matrices(const MatrixRow& mine, Site site);
// Ends the launch if the 16 bytes are not aligned, or not of shared memory where that must be.
void require_16_bytes(const void* address, bool shared, const char* what, Site site);
void copy_begin(void* to_shared, const void* from, Site site);
void copies_commit();
void copies_wait(unsigned left);

}  // namespace device_executor

namespace cb::kernels {

#define CB_SITE device_executor::Site site = {__builtin_FILE(), __builtin_LINE()}

inline void multiply_bfloat16(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], const float (&c)[4], CB_SITE) {
  device_executor::multiply_matrices({a, b, c, d, &device_executor::kBfloat16}, site);
}
inline void multiply_half(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                          const float (&c)[4], CB_SITE) {
  device_executor::multiply_matrices({a, b, c, d, &device_executor::kHalf}, site);
}

inline int anew(int value) { return value; }

inline std::uint32_t pack_bfloat16(float low, float high) {
  return device_executor::narrow_bits(low, device_executor::kBfloat16) |
         device_executor::narrow_bits(high, device_executor::kBfloat16) << 16;
}
inline float power_of_two(float x) { return exp2f(x); }

// The row is read by the lane that brings it, so that the executor sees who reads what.
inline device_executor::MatrixRow matrix_row(std::uint32_t (&to)[4], const void* row,
                                             bool transposed, device_executor::Site site) {
  device_executor::require_16_bytes(row, true, "a load of matrices", site);
  const auto* words = static_cast<const std::uint32_t*>(row);
  return {{words[0], words[1], words[2], words[3]}, to, transposed};
}
inline void load_matrices(std::uint32_t (&to)[4], const void* row, CB_SITE) {
  device_executor::load_matrices(matrix_row(to, row, false, site), site);
}
inline void load_matrices_transposed(std::uint32_t (&to)[4], const void* row, CB_SITE) {
  device_executor::load_matrices(matrix_row(to, row, true, site), site);
}

inline void copy_begin(void* to_shared, const void* from, CB_SITE) {
  device_executor::copy_begin(to_shared, from, site);
}
#undef CB_SITE
inline void copies_commit() { device_executor::copies_commit(); }
template <int Left>
void copies_wait() {
  device_executor::copies_wait(Left);
}

}  // namespace cb::kernels
