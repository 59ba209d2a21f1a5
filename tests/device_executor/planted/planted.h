// Launchers of kernels with a mistake each (planted.cu), and of copies of real kernels with one
// (damaged.cmake).
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/cg.h"
#include "kernels/fill_verify.h"
#include "kernels/hash.h"
#include "kernels/infer.h"
#include "kernels/lu.h"
#include "kernels/march.h"
#include "kernels/moe.h"
#include "kernels/sm_chain.h"
#include "kernels/train.h"

namespace planted {

inline constexpr unsigned words_of_lane = 17;

int launch_write_from(int* to, int first, unsigned threads);
int launch_read_from(const int* from, int first, int* to, unsigned threads);
int launch_rotate(int* data, unsigned threads, bool barrier);
int launch_rotate_dynamic(int* data, unsigned threads, unsigned places);
int launch_rotate_in_warp(int* data, unsigned threads, bool barrier);
int launch_barrier_of_some(unsigned some, unsigned threads);
int launch_barrier_in_each_branch(int* data, unsigned threads);
int launch_shuffle_of_some(int* data, unsigned mask, unsigned lanes, unsigned threads);
int launch_shuffle_from(int* data, unsigned mask, int lane);
int launch_shuffle_and_vote(int* data);
int launch_last_block_adds(const int* in, int* parts, unsigned* done, int* sum, bool announce,
                           unsigned blocks);
int launch_wait_for_next_block(unsigned* flags);
int launch_add_together(const int* in, int* parts, std::uint64_t* turns, int* sums, unsigned silent,
                        bool early, bool together, unsigned blocks);
int launch_words(unsigned* out);
int launch_places(unsigned* out, const dim3& blocks, const dim3& threads);
int launch_atomics(int* values, unsigned blocks, unsigned threads);
int launch_add_by_exchange(float* sum, unsigned* owner, unsigned threads);

}  // namespace planted

namespace cb::kernels {

int no_first_barrier_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations,
                           std::uint64_t wanted, std::int64_t damaged_block, void* stream);
int no_second_barrier_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations,
                            std::uint64_t wanted, std::int64_t damaged_block, void* stream);
int no_atomic_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations,
                    std::uint64_t wanted, std::int64_t damaged_block, void* stream);
int one_too_many_fill(void* device_memory, std::size_t bytes, std::uint64_t seed, void* stream);
int one_word_for_all_march_write(void* data, std::size_t words, March test, std::uint64_t step,
                                 void* stream);
int early_end_hash(const void* data, std::size_t bytes, int element_bits, int exponent_bits,
                   HashResult* result, void* stream);
int no_wait_for_scores_infer_attention(const InferAttention& a, void* stream);
int one_position_more_infer_attention(const InferAttention& a, void* stream);
int one_angle_infer_into_cache(const InferProduct& p, const InferCache& cache, void* stream);
int gate_twice_infer_gated(const InferProduct& p, void* stream);
int no_mark_infer_onto_stream(const InferProduct& p, float* mark, void* stream);
int one_column_train_embed_backward(const float* dout, float* dtable, const TrainEmbedding& e,
                                    void* stream);
int one_too_far_train_squares(const float* x, std::int64_t count, double* parts, double* out,
                              void* stream);
int one_set_lu_narrow(const LuPanel& panel, std::int64_t begin, std::int64_t end, void* stream);
int no_replaced_lu_narrow(const LuPanel& panel, std::int64_t begin, std::int64_t end, void* stream);
int one_missing_lu_narrow(const LuPanel& panel, std::int64_t begin, std::int64_t end, void* stream);
int no_meeting_lu_move(const LuExchange& e, void* stream);
int all_colours_cg_sweep(const CgMatrix& a, const double* r, double* x, void* stream);
int no_last_barrier_moe_places(const MoeRoutes& routes, void* stream);

}  // namespace cb::kernels
