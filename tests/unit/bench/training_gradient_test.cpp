// Gradients of the decoder against central differences, in double precision.
#include <doctest/doctest.h>

#include <cmath>

#include "bench/training/host_backend.h"
#include "bench/training/trainer.h"
#include "sys/cpu/affinity.h"
#include "tests/unit/training_run.h"

using namespace cb;
using namespace cb::training;

namespace {

struct SmallNet {
  explicit SmallNet(const Stage& s = odd_stage())
      : stage(s),
        team({allowed_cpus().at(0)}),
        backend(host_backend<double>(team)),
        comm(single_comm()),
        fabric(connect<double>(*comm, stage.layout)),
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
    // Weights far from their start: gains that are not 1, scores that differ.
    for (int64_t i = 0; i < parameters.count(); ++i)
      parameters.weights()[i] = 0.4 * parameters.weights()[i] / 0.02 + 0.1 * std::sin(double(i));
  }

  double loss() {
    decoder.forward(tape);
    return decoder.head(tape, 1);
  }

  Stage stage;
  Team team;
  std::unique_ptr<Backend<double>> backend;
  std::unique_ptr<Comm> comm;
  Fabric<double> fabric;
  Watch<double> watch;
  Parameters<double> parameters;
  Decoder<double> decoder;
  Tape<double> tape;
};

// (f(x+e) − f(x−e)) / 2e with e = 1e-5: its own error is about 1e-9 here.
double difference(SmallNet& net, int64_t at) {
  constexpr double kStep = 1e-5;
  double& weight = net.parameters.weights()[at];
  const double kept = weight;
  weight = kept + kStep;
  const double above = net.loss();
  weight = kept - kStep;
  const double below = net.loss();
  weight = kept;
  return (above - below) / (2 * kStep);
}

void check_tensor(SmallNet& net, const std::vector<double>& gradients, const Tensor& tensor) {
  double size = 0;
  for (int64_t i = 0; i < tensor.count; ++i)
    size = std::max(size, std::abs(gradients[static_cast<size_t>(tensor.offset + i)]));
  CHECK_MESSAGE(size > 1e-6, tensor.name);  // a gradient of zero would agree with nothing computed
  const int64_t stride = std::max<int64_t>(1, tensor.count / 23);
  for (int64_t i = 0; i < tensor.count; i += stride) {
    const double expected = difference(net, tensor.offset + i);
    const double got = gradients[static_cast<size_t>(tensor.offset + i)];
    CHECK_MESSAGE(std::abs(got - expected) <= 1e-6 * std::max(size, 1.0),
                  tensor.name << "[" << i << "]: " << got << ", by differences " << expected);
  }
}

}  // namespace

TEST_CASE("every gradient of the decoder equals central differences") {
  for (const bool recompute : {false, true}) {
    SmallNet net(odd_stage(recompute));
    net.loss();
    net.backend->zero(net.parameters.gradients(), net.parameters.count());
    net.loss();
    net.decoder.backward(net.tape, false);
    const std::vector<double> gradients(net.parameters.gradients(),
                                        net.parameters.gradients() + net.parameters.count());
    for (const Block& block : net.parameters.blocks())
      for (const Tensor& tensor : block.tensors) check_tensor(net, gradients, tensor);
  }
}

TEST_CASE("a chunk of rows in the head is like all rows at once") {
  // 70 tokens are two chunks of the least size, 64.
  Stage stage = odd_stage();
  stage.batch = {.sequence = 35, .sequences = 2, .micro_batches = 1};
  stage.shape.vocabulary = 1 << 17;  // 2^22 logits at a time are 32 rows, so 64
  stage.shape.layers = 1;
  SmallNet net(stage);
  // Only the head: the loss by hand of what the last layer gives.
  const double loss = net.loss();
  const double* stream = net.tape.streams.back().get();
  const double* gain = net.parameters.head_gain(net.parameters.weights());
  const double* head = net.parameters.head(net.parameters.weights());
  const int64_t h = stage.shape.hidden;
  double expected = 0;
  for (int64_t r = 0; r < 70; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < h; ++i) squares += stream[r * h + i] * stream[r * h + i];
    const double scale = 1 / std::sqrt(squares / static_cast<double>(h) + 1e-5);
    double sum = 0, target = 0;
    for (int64_t v = 0; v < stage.shape.vocabulary; ++v) {
      double logit = 0;
      for (int64_t i = 0; i < h; ++i)
        logit += stream[r * h + i] * scale * gain[i] * head[v * h + i];
      sum += std::exp(logit);
      if (v == net.tape.targets[static_cast<size_t>(r)]) target = logit;
    }
    expected += std::log(sum) - target;
  }
  CHECK(loss == doctest::Approx(expected).epsilon(1e-10));
}
