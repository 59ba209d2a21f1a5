#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "model/training/cost.h"
#include "model/training/suspects.h"
#include "model/training/synthetic_text.h"

using namespace cb;
using namespace cb::training;

TEST_CASE("parameters of ten shapes by hand") {
  // 2·h·H·d + 2·h·kv·d + 3·h·f a layer, and h·V.
  CHECK(matmul_parameters(*find_shape("tiny")) ==
        2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 192) + 64 * 512);
  CHECK(matmul_parameters(*find_shape("llama-8b")) == 7504658432);
  CHECK(matmul_parameters(*find_shape("llama-70b")) == 69501714432);
  CHECK(matmul_parameters(*find_shape("llama-405b")) == 403747897344);
  // 4·768² + 2·768·3072 a layer, 12 layers, and 768·50257.
  CHECK(matmul_parameters(*find_shape("gpt2-124m")) == 123532032);
  // Two experts of eight, and a router of h·8.
  CHECK(matmul_parameters(*find_shape("mixtral-8x7b")) == 12748587008);
  CHECK(matmul_parameters(*find_shape("mixtral-8x22b")) == 38959448064);
  Shape slice = *find_shape("llama-8b");
  slice.layers = 4;
  CHECK(matmul_parameters(slice) == int64_t{4} * 218103808 + 525336576);
  slice = *find_shape("llama-70b");
  slice.layers = 2;
  CHECK(matmul_parameters(slice) == int64_t{2} * 855638016 + 1050673152);
  CHECK(matmul_parameters({"free", 3, 10, 2, 1, 4, 7, 11}) == 3 * (160 + 80 + 210) + 110);
}

TEST_CASE("all stored parameters") {
  // Llama 3 8B has 8.03e9: both tables, and 2 gains a layer and one at the end.
  CHECK(stored_parameters(*find_shape("llama-8b")) == 8030261248);
  CHECK(stored_parameters(*find_shape("llama-70b")) == 70553706496);
  CHECK(stored_parameters({"free", 3, 10, 2, 1, 4, 7, 11}) == 3 * (450 + 20) + 220 + 10);
}

TEST_CASE("operations per token by the causal and the full convention") {
  const auto giga = [](const char* name, int64_t sequence, Mask mask) {
    return flops_per_token(*find_shape(name), sequence, mask) / 1e9;
  };
  CHECK(giga("llama-8b", 8192, Mask::causal) == doctest::Approx(51.47).epsilon(1e-3));
  CHECK(giga("llama-8b", 8192, Mask::full) == doctest::Approx(57.91).epsilon(1e-3));
  CHECK(giga("llama-70b", 8192, Mask::causal) == doctest::Approx(449.2).epsilon(1e-3));
  CHECK(giga("llama-70b", 8192, Mask::full) == doctest::Approx(481.4).epsilon(1e-3));
  CHECK(giga("llama-405b", 8192, Mask::causal) == doctest::Approx(2524).epsilon(1e-3));
  CHECK(giga("llama-405b", 8192, Mask::full) == doctest::Approx(2625).epsilon(1e-3));
  CHECK(giga("mixtral-8x7b", 4096, Mask::causal) == doctest::Approx(79.7).epsilon(1e-3));
  CHECK(giga("mixtral-8x7b", 4096, Mask::full) == doctest::Approx(82.9).epsilon(1e-3));
  // tiny, by hand: 6·131072 + 6·2·32·4·16.
  CHECK(flops_per_token(*find_shape("tiny"), 32) == 6 * 131072 + 6 * 2 * 32 * 64);
}

TEST_CASE("the published rates of Megatron-Bridge 25.11 follow from its tokens per second") {
  struct Row {
    const char* name;
    double tokens, teraflops;
  };
  const Row rows[] = {
      {"llama-8b", 37556, 1933}, {"llama-8b", 31508, 1622}, {"llama-8b", 30624, 1576},
      {"llama-8b", 14451, 744},  {"llama-70b", 4520, 2030}, {"llama-70b", 4312, 1937},
      {"llama-70b", 1602, 719},  {"llama-405b", 999, 2522}, {"llama-405b", 813, 2053},
      {"llama-405b", 661, 1667}, {"llama-405b", 292, 737}};
  for (const Row& row : rows) {
    const double found = flops_per_token(*find_shape(row.name), 8192) * row.tokens / 1e12;
    CHECK(found == doctest::Approx(row.teraflops).epsilon(0.002));
  }
}

TEST_CASE("recomputing adds one forward of the layers") {
  const Shape& tiny = *find_shape("tiny");
  const double model = flops_per_token(tiny, 32), head = 6.0 * 64 * 512;
  CHECK(hardware_flops_per_token(tiny, 32, false) == model);
  CHECK(hardware_flops_per_token(tiny, 32, true) == model + (model - head) / 3);
}

TEST_CASE("memory of a rank") {
  const Shape& s = *find_shape("llama-8b");
  const Batch batch{.sequence = 4096, .sequences = 1, .micro_batches = 1};
  const Memory plain = memory_of_rank(s, {}, batch, 2, false);
  const double n = 8030261248.0;
  CHECK(plain.weights == 2 * n);
  CHECK(plain.gradients == 2 * n);
  CHECK(plain.optimizer == 12 * n);  // two moments and the fp32 master
  CHECK(memory_of_rank(s, {}, batch, 4, false).optimizer == 8 * n);
  CHECK(memory_of_rank(s, {.data = 4, .zero1 = true}, batch, 2, false).optimizer == 3 * n);
  // Two ranks share everything but the gains: 65 of 4096 elements.
  CHECK(memory_of_rank(s, {.tensor = 2}, batch, 2, false).weights == n + 65 * 4096);
  // Without recomputing: 4h + 2, qkv 6144, attention 4096 + 32, gate, up and product 3·14336.
  CHECK(plain.activations == 2.0 * 32 * 4096 * (4 * 4096 + 2 + 6144 + 4096 + 32 + 3 * 14336));
  CHECK(memory_of_rank(s, {.pipeline = 4}, {4096, 1, 8}, 2, true).activations ==
        2.0 * 4096 * (4 * 8 * 4096 + 4 * 4096 + 2 + 6144 + 4096 + 32 + 3 * 14336));
}

TEST_CASE("traffic of a rank and the bubble") {
  const Shape& tiny = *find_shape("tiny");
  const Batch batch{.sequence = 32, .sequences = 2, .micro_batches = 3};
  CHECK(traffic_of_rank(tiny, {}, batch, 4).data == 0);
  const double n = static_cast<double>(stored_parameters(tiny));
  CHECK(traffic_of_rank(tiny, {.data = 4}, batch, 4).data == 2 * n * 4 * 3 / 4);
  // 8·(1/2)·b·s·h·4 bytes, two layers, three micro-batches.
  CHECK(traffic_of_rank(tiny, {.tensor = 2}, batch, 4).tensor == 4.0 * 64 * 64 * 4 * 2 * 3);
  CHECK(traffic_of_rank(tiny, {.pipeline = 2}, batch, 4).pipeline == 2.0 * 64 * 64 * 4 * 3);
  CHECK(traffic_of_rank(tiny, {.tensor = 2}, batch, 4).pipeline == 0);
  CHECK(bubble_of_ideal(4, 12) == 0.25);
  CHECK(bubble_share(4, 12) == 0.2);
  CHECK(bubble_share(1, 1) == 0);
}

TEST_CASE("the text's floor, and what it consists of") {
  CHECK(loss_floor({512, 256, 0.15}) == doctest::Approx(1.2499).epsilon(1e-3));
  CHECK(loss_floor({512, 256, 0}) == 0);
  CHECK(loss_floor({512, 256, 1}) == doctest::Approx(std::log(256.0)));
  CHECK(first_loss(512, 0) == doctest::Approx(std::log(512.0)));
  CHECK(first_loss(128256, 4096 * 0.0004) == doctest::Approx(11.7618 + 0.8192).epsilon(1e-4));

  const Text text({512, 256, 0.15}, 1);
  std::vector<int32_t> tokens(20001), again(20001);
  text.write(5, 20001, tokens.data());
  text.write(5, 20001, again.data());
  CHECK(tokens == again);
  const std::set<int32_t> used(tokens.begin(), tokens.end());
  CHECK(used.size() == 256);
  int follows = 0;
  for (size_t i = 1; i < tokens.size(); ++i) follows += tokens[i] == text.successor(tokens[i - 1]);
  // 1 − ε + ε/K = 0.8506 of 20,000, six standard deviations are 0.015.
  CHECK(follows / 20000.0 == doctest::Approx(0.8506).epsilon(0.018));
  text.write(6, 20001, again.data());
  CHECK(tokens != again);
}

TEST_CASE("places of a step are in the order in which they depend on one another") {
  using Part = PlaceInStep::Part;
  const int64_t layers = 3;
  std::vector<PlaceInStep> in_order;
  for (int64_t l = 0; l < layers; ++l) {
    in_order.push_back({Part::forward_attention, l, 0});
    in_order.push_back({Part::forward_feed_forward, l, 0});
  }
  in_order.push_back({Part::head, layers, 0});
  for (int64_t l = layers; l-- > 0;) {
    in_order.push_back({Part::backward_feed_forward, l, 0});
    in_order.push_back({Part::backward_attention, l, 0});
  }
  for (int64_t l = layers; l >= -1; --l) in_order.push_back({Part::gradient, l, 0});
  in_order.push_back({Part::forward_attention, 0, 1});
  for (size_t i = 0; i < in_order.size(); ++i) {
    const uint64_t order = in_order[i].order(layers);
    if (i > 0) CHECK(order > in_order[i - 1].order(layers));
    const PlaceInStep back = PlaceInStep::of_order(order, layers);
    CHECK(back.part == in_order[i].part);
    CHECK(back.layer == in_order[i].layer);
    CHECK(back.micro_batch == in_order[i].micro_batch);
  }
}

TEST_CASE("the vote names the rank and the first place") {
  const std::vector<TracePoint> good{{0, 10}, {1, 11}, {2, 12}};
  const std::vector<TracePoint> bad{{0, 10}, {1, 99}, {2, 98}};
  CHECK(find_different({good, good, good}, {.data = 3}).empty());
  CHECK(find_different({good, good, bad}, {.data = 3}) == std::vector<Suspect>{{2, 1, true}});
  // Two contradict each other: both.
  CHECK(find_different({good, bad}, {.data = 2}) ==
        std::vector<Suspect>{{0, 1, false}, {1, 1, false}});
  // A rank that computed less.
  CHECK(find_different({good, good, {{0, 10}}}, {.data = 3}) == std::vector<Suspect>{{2, 1, true}});
  // Ranks 0 and 1 are one replica. Rank 3 gets wrong data from rank 2 and differs later.
  const std::vector<TracePoint> later{{0, 10}, {1, 11}, {2, 97}};
  CHECK(find_different({good, good, bad, later, good, good}, {.data = 3, .tensor = 2}) ==
        std::vector<Suspect>{{2, 1, true}});
  CHECK(first_difference(good, bad) == 1u);
  CHECK_FALSE(first_difference(good, good).has_value());
  CHECK(first_difference(good, {{0, 10}}) == 1u);
}

TEST_CASE("stragglers are compared with the ranks of their own stage") {
  const Layout pairs{.data = 2, .pipeline = 2};
  CHECK(find_stragglers({1.0, 1.09, 3.0, 3.2}, pairs, 1.1).empty());
  const auto found = find_stragglers({1.0, 1.25, 3.0, 3.2}, pairs, 1.1);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rank == 1);
  CHECK(found[0].ratio == 1.25);
  CHECK(find_stragglers({1.0, 2.0}, {.pipeline = 2}, 1.1).empty());  // of two stages
  CHECK(find_stragglers({1.0, 1.0, 1.0, 1.2}, {.data = 4}, 1.1).size() == 1);
}
