// Launchers of kernels of tensor cores and asynchronous copies (planted_tensor.cu).
#pragma once

namespace planted {

enum class Mistake : int {
  none,
  no_commit,                 // the copies' groups stay open
  waits_for_the_first_only,  // of two groups
  no_barrier,                // between what one lane copied and what another one reads
  lanes_missing,             // one lane does not come to the multiplication
};

// D = A·B + C with A of 16×16 halves by rows and B of 16×8 by columns; `lanes` of the warp come.
int launch_multiply_once(const void* a, const void* b, const float* c, float* d, unsigned lanes);
// Registers of each lane from 32 rows of 8 numbers; `shift` numbers are added to each address.
int launch_load_once(const unsigned short* from, unsigned* straight, unsigned* transposed,
                     unsigned shift);
int launch_load_from_global(const unsigned short* from, unsigned* out);
// D = A·B with A of 16×32 by rows and B of 32×16 by columns, both bfloat16.
int launch_tile_product(const void* a, const void* b, float* d, Mistake mistake);

}  // namespace planted
