// What a rank of a mixture of experts does on a GPU with its tokens: finds where each goes by its
// experts, puts rows together by receiving rank, and adds the rows that come back. A token goes to
// a rank once. Rows of one receiving rank lie together, ranks and tokens ascending.
#pragma once

#include <cstdint>

namespace cb::kernels {

struct MoeRoutes {
  const std::int32_t* experts;  // tokens × top_k; expert e is on rank e / experts_of_rank
  std::int64_t tokens;
  std::int32_t top_k, ranks, experts_of_rank;
  std::int32_t*
      places;  // tokens × ranks: which row of that rank's; −1: the token does not go there
  std::int32_t* counts;  // of each rank's rows
};

// Writes places and counts.
int launch_moe_places(const MoeRoutes& routes, void* stream);

// A row is a token's payload, and behind it words of 4 bytes: rank, token, top_k experts (−1 where
// one is on another rank), top_k weights (0 there), and zeros to the row's end.
struct MoePack {
  MoeRoutes routes;
  const float* weights;        // tokens × top_k
  const unsigned char* token;  // payloads, one after the other
  unsigned char* row;
  std::int64_t payload_bytes, row_bytes;  // multiples of 4 and 16; the arrays are aligned to 16
  std::int32_t rank;                      // this one
};
int launch_moe_pack(const MoePack& pack, void* stream);

struct MoeAdd {
  MoeRoutes routes;
  const void* row;      // elements of bf16 or fp32
  float* sum;           // tokens × width, overwritten; added in the order of the ranks
  std::int64_t width;   // a multiple of 4
  std::int32_t narrow;  // elements are bf16
};
int launch_moe_add(const MoeAdd& add, void* stream);

}  // namespace cb::kernels
