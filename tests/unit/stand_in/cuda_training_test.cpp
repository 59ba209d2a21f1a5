// A training step on a stand-in GPU, with the real kernels, beside the same step on the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/host_backend.h"
#include "bench/training/trainer.h"
#include "sys/cpu/affinity.h"
#include "tests/unit/training_run.h"

using namespace cb;
using namespace cb::training;

namespace {

Stage tiny_stage() {
  Stage out;
  out.shape = *find_shape("tiny");
  out.batch = {.sequence = 16, .sequences = 2, .micro_batches = 1};
  return out;
}

cublaslt::Library stand_in_library() {
  const auto opened = cublaslt::open();
  if (const auto* absent = std::get_if<cublaslt::Absent>(&opened))
    FAIL("the stand-in cuBLASLt was not opened: " << absent->reason.in(Lang::en));
  return std::get<cublaslt::Library>(opened);
}

std::unique_ptr<Backend<float>> on_gpu(const CudaSettings& settings = {}) {
  cuda::select(0);
  return cuda_backend(stand_in_library(), settings);
}

Team& one_thread() {
  static Team team({allowed_cpus().at(0)});
  return team;
}

struct Net {
  Net(std::unique_ptr<Backend<float>> made, const Stage& s)
      : stage(s),
        backend(std::move(made)),
        comm(single_comm()),
        fabric(connect<float>(*comm, stage.layout)),
        watch(*backend, stage.shape.layers, Fault()),
        parameters(*backend, stage, 7),
        decoder(*backend, fabric, stage, parameters, watch, {}),
        tape(decoder.make_tape()) {
    const Text text({stage.shape.vocabulary, 7, 0.5}, 3);
    for (int64_t i = 0; i < stage.batch.sequences; ++i) {
      std::vector<int32_t> one(static_cast<size_t>(stage.batch.sequence + 1));
      text.write(i, stage.batch.sequence + 1, one.data());
      tape.tokens.insert(tape.tokens.end(), one.begin(), one.end() - 1);
      tape.targets.insert(tape.targets.end(), one.begin() + 1, one.end());
    }
    // Far from the start: gains that are not 1, scores that differ.
    std::vector<float> w = values(parameters.weights(), parameters.count());
    for (size_t i = 0; i < w.size(); ++i) w[i] = 8 * w[i] + 0.1F * std::sin(static_cast<float>(i));
    backend->put(parameters.weights(), w.data(), parameters.count());
  }

  std::vector<float> values(const float* from, int64_t count) const {
    std::vector<float> out(static_cast<size_t>(count));
    backend->look(out.data(), from, count);
    return out;
  }

  Stage stage;
  std::unique_ptr<Backend<float>> backend;
  std::unique_ptr<Comm> comm;
  Fabric<float> fabric;
  Watch<float> watch;
  Parameters<float> parameters;
  Decoder<float> decoder;
  Tape<float> tape;
};

// Largest difference over the largest size of `wanted`; infinite where a number is not finite.
double off(const std::vector<float>& got, const std::vector<float>& wanted) {
  double most = 0, size = 1e-30;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double d = std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    most = d <= most ? most : std::isfinite(d) ? d : 1e300;
    size = std::max(size, std::abs(static_cast<double>(wanted[i])));
  }
  return most / size;
}

constexpr double kRounding = 3e-6;

using Training = TrainingRun;

}  // namespace

TEST_CASE("every array of a layer, and every gradient, agrees with the host's") {
  for (const bool recompute : {false, true}) {
    CAPTURE(recompute);
    // Blocks of two rows: scores of later rows see columns of earlier ones.
    Net host(host_backend<float>(one_thread()), odd_stage(recompute));
    Net gpu(on_gpu({.attention_block_rows = 2}), odd_stage(recompute));
    host.decoder.forward(host.tape);
    gpu.decoder.forward(gpu.tape);
    const Stage& s = host.stage;
    const int64_t n = s.tokens(), h = s.shape.hidden;
    const auto same = [&](const std::string& what, size_t layer, const auto& of, int64_t count) {
      CAPTURE(what);
      CAPTURE(layer);
      const auto wanted = host.values(of(host.tape), count);
      CHECK(off(wanted, std::vector<float>(wanted.size())) > 0);  // zeros agree with nothing
      CHECK(off(gpu.values(of(gpu.tape), count), wanted) < kRounding);
    };
    for (size_t i = 0; i < host.tape.layers.size(); ++i) {
      const auto member = [&](const std::string& what, auto pointer, int64_t count) {
        same(
            what, i, [&](const Tape<float>& t) { return (t.layers[i].*pointer).get(); }, count);
      };
      using Layer = LayerTape<float>;
      member("normed1", &Layer::normed1, n * h);
      member("scale1", &Layer::scale1, n);
      member("qkv", &Layer::qkv, n * s.attention().stride());
      member("attended", &Layer::attended, n * s.heads() * s.shape.head_dim);
      member("log_sums", &Layer::log_sums, n * s.heads());
      member("middle", &Layer::middle, n * h);
      member("normed2", &Layer::normed2, n * h);
      member("gate_up", &Layer::gate_up, 2 * n * s.feed_forward());
      member("activated", &Layer::activated, n * s.feed_forward());
    }
    for (size_t i = 0; i < host.tape.streams.size(); ++i)
      same(
          "stream", i, [&](const Tape<float>& t) { return t.streams[i].get(); }, n * h);

    const double wanted = host.decoder.head(host.tape, 0.1), got = gpu.decoder.head(gpu.tape, 0.1);
    CHECK(got == doctest::Approx(wanted).epsilon(kRounding));
    same(
        "dstream", 9, [](const Tape<float>& t) { return t.dstream.get(); }, n * h);
    host.decoder.backward(host.tape, false);
    gpu.decoder.backward(gpu.tape, false);
    same(
        "dstream", 0, [](const Tape<float>& t) { return t.dstream.get(); }, n * h);
    for (const Block& block : host.parameters.blocks())
      for (const Tensor& tensor : block.tensors) {
        CAPTURE(tensor.name);
        const auto of = [&](const Net& net) {
          return net.values(net.parameters.gradients() + tensor.offset, tensor.count);
        };
        CHECK(off(of(host), std::vector<float>(static_cast<size_t>(tensor.count))) > 0);
        CHECK(off(of(gpu), of(host)) < 10 * kRounding);
      }
  }
}

TEST_CASE("the first weights are the host's, bit by bit") {
  Training host(host_backend<float>(one_thread()), tiny_stage());
  Training gpu(on_gpu(), tiny_stage());
  CHECK(gpu.trainer.weights_hash() == host.trainer.weights_hash());
}

TEST_CASE("the curve of the loss is the host's within rounding, and repeats itself bit by bit") {
  Training host(host_backend<float>(one_thread()), tiny_stage());
  const std::vector<double> wanted = host.losses(12);
  Training first(on_gpu(), tiny_stage()), second(on_gpu(), tiny_stage());
  const std::vector<double> got = first.losses(12);
  for (size_t i = 0; i < wanted.size(); ++i)
    CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(2e-5));
  CHECK(wanted.back() < wanted.front());
  CHECK(second.losses(12) == got);
  CHECK(second.trainer.weights_hash() == first.trainer.weights_hash());
}

TEST_CASE(
    "bf16: products of rounded operands; the curve stays near, and repeats itself bit by bit") {
  const auto gpu = on_gpu({.bf16 = true});
  const int64_t m = 5, n = 6, k = 7;
  const auto a = gpu->allocate(m * k), b = gpu->allocate(n * k), c = gpu->allocate(m * n);
  gpu->normal(a.get(), {m, k, 0, 0, k}, 1, 1);
  gpu->normal(b.get(), {n, k, 0, 0, k}, 2, 1);
  gpu->matmul({{m, n, k}, a.get(), k, false, b.get(), k, true, c.get(), n});
  const auto values = [&](const float* from, int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    gpu->look(out.data(), from, count);
    return out;
  };
  const auto rounded = [](float x) {  // to eight bits
    int exponent = 0;
    const float fraction = std::frexp(x, &exponent);
    return static_cast<double>(std::ldexp(std::nearbyint(fraction * 256), exponent - 8));
  };
  const std::vector<float> va = values(a.get(), m * k), vb = values(b.get(), n * k);
  std::vector<float> wanted, plain;
  for (int64_t i = 0; i < m * n; ++i) {
    double sum = 0, unrounded = 0;
    for (int64_t q = 0; q < k; ++q) {
      const float x = va[static_cast<size_t>(i / n * k + q)],
                  y = vb[static_cast<size_t>(i % n * k + q)];
      sum += rounded(x) * rounded(y);
      unrounded += static_cast<double>(x) * static_cast<double>(y);
    }
    wanted.push_back(static_cast<float>(sum));
    plain.push_back(static_cast<float>(unrounded));
  }
  CHECK(off(values(c.get(), m * n), wanted) < 1e-6);
  CHECK(off(wanted, plain) > 1e-4);  // it was rounded

  Training host(host_backend<float>(one_thread()), tiny_stage());
  Training first(on_gpu({.bf16 = true}), tiny_stage()),
      second(on_gpu({.bf16 = true}), tiny_stage());
  const std::vector<double> losses = host.losses(12), got = first.losses(12);
  for (size_t i = 0; i < losses.size(); ++i)
    CHECK(got[i] == doctest::Approx(losses[i]).epsilon(0.003));
  CHECK(got != losses);
  CHECK(second.losses(12) == got);
}

TEST_CASE("fp8: the curve stays near the host's, and repeats itself bit by bit") {
  const CudaSettings fp8{.bf16 = true, .fp8 = true};
  Training host(host_backend<float>(one_thread()), tiny_stage());
  Training narrow(on_gpu({.bf16 = true}), tiny_stage());
  Training first(on_gpu(fp8), tiny_stage()), second(on_gpu(fp8), tiny_stage());
  const std::vector<double> losses = host.losses(12), got = first.losses(12);
  for (size_t i = 0; i < losses.size(); ++i)
    CHECK(got[i] == doctest::Approx(losses[i]).epsilon(0.02));
  CHECK(got != narrow.losses(12));
  CHECK(second.losses(12) == got);
  CHECK(second.trainer.weights_hash() == first.trainer.weights_hash());
}

TEST_CASE("fp8: a NaN stops the update, a twin step repeats itself, a flipped bit shows") {
  const CudaSettings fp8{.bf16 = true, .fp8 = true};
  Training no_number(on_gpu(fp8), tiny_stage(), {Fault::Kind::nan, 0, 1});
  CHECK_FALSE(no_number.trainer.step().updated);
  REQUIRE(no_number.trainer.not_finite());
  CHECK(no_number.trainer.not_finite()->layer == 1);

  Training healthy(on_gpu(fp8), tiny_stage());
  CHECK(healthy.trainer.twin_step(true) == healthy.trainer.twin_step(true));
  Training faulty(on_gpu(fp8), tiny_stage(), {Fault::Kind::bitflip, 0, 1});
  const auto parted =
      first_difference(faulty.trainer.twin_step(true), faulty.trainer.twin_step(false));
  REQUIRE(parted);
  CHECK(PlaceInStep::of_order(*parted, 2).layer == 1);
}

TEST_CASE("bf16 attention of heads of 64 and 128 keeps no scores, and is near the host's") {
  const AttentionShape s{.batch = 2, .sequence = 20, .heads = 4, .kv_heads = 2, .dim = 64};
  AttentionShape longer = s;
  longer.past = 1;
  CHECK(attention_is_fused(s, {.bf16 = true}));
  CHECK_FALSE(attention_is_fused(s, {.bf16 = false}));
  CHECK_FALSE(attention_is_fused(longer, {.bf16 = true}));
  CHECK_FALSE(attention_is_fused({2, 20, 4, 2, 96}, {.bf16 = true}));
  const int64_t wide = s.heads * s.dim;
  const auto run = [&](Backend<float>& backend) {
    const auto qkv = backend.allocate(s.tokens() * s.stride());
    const auto dqkv = backend.allocate(s.tokens() * s.stride());
    const auto out = backend.allocate(s.tokens() * wide),
               dout = backend.allocate(s.tokens() * wide);
    const auto sums = backend.allocate(s.tokens() * s.heads);
    backend.normal(qkv.get(), {s.tokens(), s.stride(), 0, 0, s.stride()}, 3, 1);
    backend.normal(dout.get(), {s.tokens(), wide, 0, 0, wide}, 4, 1);
    backend.attention(qkv.get(), out.get(), sums.get(), s);
    backend.attention_backward(qkv.get(), out.get(), dout.get(), sums.get(), dqkv.get(), s);
    std::array<std::vector<float>, 3> found;
    const std::array<const float*, 3> from{out.get(), sums.get(), dqkv.get()};
    const std::array<int64_t, 3> counts{s.tokens() * wide, s.tokens() * s.heads,
                                        s.tokens() * s.stride()};
    for (size_t i = 0; i < 3; ++i) {
      found[i].resize(static_cast<size_t>(counts[i]));
      backend.look(found[i].data(), from[i], counts[i]);
    }
    return found;
  };
  const auto gpu = on_gpu({.bf16 = true});
  const auto host = host_backend<float>(one_thread());
  const auto got = run(*gpu), wanted = run(*host);
  for (size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(off(got[i], wanted[i]) < 0x1p-6);  // some roundings to bf16 of each operand
    CHECK(off(got[i], wanted[i]) > 1e-5);    // and it was rounded
  }
  CHECK(run(*gpu) == got);
}

TEST_CASE("a twin step repeats itself on the device; a flipped bit there shows where it was") {
  Training healthy(on_gpu(), tiny_stage());
  const uint64_t before = healthy.trainer.weights_hash();
  const auto first = healthy.trainer.twin_step(true);
  CHECK(first == healthy.trainer.twin_step(true));
  CHECK(healthy.trainer.weights_hash() == before);

  Training faulty(on_gpu(), tiny_stage(), {Fault::Kind::bitflip, 0, 1});
  const auto parted =
      first_difference(faulty.trainer.twin_step(true), faulty.trainer.twin_step(false));
  REQUIRE(parted);
  const PlaceInStep place = PlaceInStep::of_order(*parted, 2);
  CHECK(place.part == PlaceInStep::Part::forward_feed_forward);
  CHECK(place.layer == 1);
}

TEST_CASE("a NaN on the device stops the update and tells its layer") {
  Training t(on_gpu(), tiny_stage(), {Fault::Kind::nan, 0, 1});
  const uint64_t before = t.trainer.weights_hash();
  CHECK_FALSE(t.trainer.step().updated);
  CHECK(t.trainer.weights_hash() == before);
  REQUIRE(t.trainer.not_finite());
  CHECK(t.trainer.not_finite()->part == PlaceInStep::Part::forward_feed_forward);
  CHECK(t.trainer.not_finite()->layer == 1);
}

TEST_CASE("tokens of a cache give what a whole pass gives") {
  const AttentionShape all{2, 6, 4, 2, 6};
  const auto gpu = on_gpu({.attention_block_rows = 4});
  const auto host = host_backend<float>(one_thread());
  const int64_t capacity = 7;
  const auto run = [&](Backend<float>& backend, int64_t past, int64_t sequence) {
    AttentionShape s = all;
    s.sequence = sequence;
    s.past = past;
    s.capacity = capacity;
    const auto qkv = backend.allocate(s.tokens() * s.stride());
    const auto cache = backend.allocate(s.batch * capacity * s.kept());
    const auto out = backend.allocate(s.tokens() * s.heads * s.dim);
    backend.normal(qkv.get(), {s.tokens(), s.stride(), 0, 0, s.stride()}, 3, 1);
    backend.normal(cache.get(), {s.batch * capacity, s.kept(), 0, 0, s.kept()}, 4, 1);
    backend.append(qkv.get(), cache.get(), s);
    backend.attention_cached(qkv.get(), cache.get(), out.get(), s);
    std::vector<float> found(static_cast<size_t>(s.tokens() * s.heads * s.dim));
    backend.look(found.data(), out.get(), static_cast<int64_t>(found.size()));
    return found;
  };
  for (const int64_t past : {0, 1, 3})
    for (const int64_t sequence : {1, 3})
      CHECK(off(run(*gpu, past, sequence), run(*host, past, sequence)) < kRounding);
}

TEST_CASE("the ledger counts the step as the host does, by the device's clock") {
  Training host(host_backend<float>(one_thread()), tiny_stage());
  Training gpu(on_gpu(), tiny_stage());
  for (Training* t : {&host, &gpu}) {
    static_cast<void>(t->backend->take_ledger());
    t->trainer.step();
  }
  const Ledger wanted = host.backend->take_ledger(), got = gpu.backend->take_ledger();
  CHECK(got.matmuls == wanted.matmuls);
  CHECK(got.attention_forwards == wanted.attention_forwards);
  CHECK(got.attention_backwards == wanted.attention_backwards);
  CHECK(got.elementwise_bytes == doctest::Approx(wanted.elementwise_bytes).epsilon(0.001));
  // AdamW's seven passes over all parameters, and one for the norm.
  CHECK(got.optimizer_bytes == 8.0 * 4 * static_cast<double>(gpu.trainer.parameters().count()));
  double products = 0;  // of the stand-in: 10⁹ operations a second, its first proposal half of it
  for (const auto& [key, count] : got.matmuls)
    products += 2.0 * static_cast<double>(key.m * key.n * key.k * count) / 0.5e9;
  CHECK(got.of(Work::matmul) == doctest::Approx(products).epsilon(0.05));
  CHECK(got.of(Work::attention) > 0);
  CHECK(got.of(Work::elementwise) > 0);
  CHECK(got.of(Work::optimizer) > 0);
}

TEST_CASE("memory is given back with the pointers") {
  cuda::select(0);
  const int64_t before = cuda::memory_info().free_bytes;
  {
    Training t(on_gpu(), tiny_stage());
    t.trainer.step();
    CHECK(cuda::memory_info().free_bytes < before);
    // What `train --device gpu` says that it needs, less what the parts alone take.
    const Stage s = tiny_stage();
    const double needed = memory_of_rank(s.shape, s.layout, s.batch, 4, false).total() +
                          4.0 * static_cast<double>(scratch_elements(s)) + cuda_scratch_bytes(s);
    const auto taken = static_cast<double>(before - cuda::memory_info().free_bytes);
    CHECK(taken <= needed);
    CHECK(taken >= needed - (4 << 20) - 1e4);
  }
  CHECK(cuda::memory_info().free_bytes == before);
}
