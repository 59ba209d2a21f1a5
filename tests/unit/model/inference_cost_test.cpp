#include "model/training/inference_cost.h"

#include <doctest/doctest.h>

using namespace cb::training;

TEST_CASE("bytes of keys and values of a token in bf16 are the published ones") {
  CHECK(kv_bytes_per_token(*find_shape("llama-8b"), 2) == 131072);
  CHECK(kv_bytes_per_token(*find_shape("llama-70b"), 2) == 327680);
  CHECK(kv_bytes_per_token(*find_shape("llama-405b"), 2) == 516096);
}

TEST_CASE("a decode step reads the matrices, the gains, and the cache of every sequence") {
  // tiny: a layer has 2·64·64 + 2·64·32 + 3·64·192 = 49152 elements, the head 64·512 = 32768.
  const Shape tiny = *find_shape("tiny");
  CHECK(decode_weight_bytes(tiny, 1, 4) == 4 * (2 * 49152 + 32768 + 5 * 64));
  CHECK(decode_weight_bytes(tiny, 2, 4) == 4 * (49152 + 16384 + 5 * 64));
  // 2 layers · 2 · 2 heads · 16 elements of a token.
  CHECK(decode_step_bytes(tiny, 1, 3, 10, 4) == decode_weight_bytes(tiny, 1, 4) + 3 * 10 * 512);
  CHECK(decode_step_bytes(tiny, 2, 3, 10, 4) == decode_weight_bytes(tiny, 2, 4) + 3 * 10 * 256);
  // 70B in fp8 on 8 ranks, a short context: 8.8 GB without the embedding.
  CHECK(decode_weight_bytes(*find_shape("llama-70b"), 8, 1) ==
        doctest::Approx(8.69e9).epsilon(0.01));
}

TEST_CASE("a prompt takes a third of a training step's operations, and one head") {
  const Shape tiny = *find_shape("tiny");
  // 2·2·49152·10 of the layers, 2·2·10·64 a token of attention, 2·64·512 of the head.
  CHECK(prefill_flops(tiny, 10) == 1966080 + 25600 + 65536);
  const Shape big = *find_shape("llama-8b");
  const double heads = 2.0 * 4096 * 128256 * (8192 - 1);
  CHECK(prefill_flops(big, 8192) + heads ==
        doctest::Approx(flops_per_token(big, 8192) / 3 * 8192).epsilon(1e-12));
}

TEST_CASE("memory: weights once, the cache, and the arrays of two passes") {
  const Shape tiny = *find_shape("tiny");
  const double weights = 4.0 * (2 * 49152 + 2 * 32768 + 5 * 64);
  // Of a token: 4·64 + 2, and (4 + 2·2)·16 + 4·16 + 4 + 3·192 columns.
  const double per_token = 258 + 772;
  CHECK(inference_memory(tiny, 1, {2, 10, 5}, 4) ==
        weights + 2 * 14 * 512 + 4 * (2 * (10 + 14) * per_token + 6 * 2 * 512));
  CHECK(inference_memory(tiny, 2, {2, 10, 5}, 4) < inference_memory(tiny, 1, {2, 10, 5}, 4));
}
