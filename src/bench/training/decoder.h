#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/training/kv_cache.h"
#include "bench/training/parameters.h"
#include "bench/training/watch.h"

namespace cb::training {

// What one layer keeps of its forward for its backward.
template <typename Real>
struct LayerTape {
  std::shared_ptr<Real[]> normed1, scale1, qkv, attended, log_sums;
  std::shared_ptr<Real[]> middle, normed2, scale2, gate_up, activated;
};

// What a stage keeps of one micro-batch.
template <typename Real>
struct Tape {
  std::vector<std::shared_ptr<Real[]>> streams;  // inputs of the layers, and the last one's output
  std::vector<LayerTape<Real>> layers;           // one alone where none is kept for the backward
  std::shared_ptr<Real[]> dstream;               // gradient of the stream
  std::vector<int32_t> tokens, targets;
  const Real* chosen = nullptr;  // instead of tokens, if given: as Backend::choose() leaves them
  int64_t micro_batch = 0;
};

// Forward and backward of one stage of a Llama-like decoder: RMSNorm, grouped attention with
// rotary positions, SwiGLU, cross entropy. The residual stream is divided by tokens over the ranks
// that share matrices (sequence parallelism, Korthikanti et al., arXiv 2205.05198); the matrices
// are divided by heads and columns (Shoeybi et al., arXiv 1909.08053).
template <typename Real>
class Decoder {
 public:
  struct Hooks {
    std::function<void()> poll = {};  // between operations: moves exchanges on
    // All gradients of that block are complete, of the last micro-batch: see Parameters::blocks().
    std::function<void(size_t)> block_done = {};
  };

  Decoder(Backend<Real>& backend, Fabric<Real>& fabric, const Stage& stage,
          Parameters<Real>& parameters, Watch<Real>& watch, Hooks hooks);

  Tape<Real> make_tape();
  // The stream's input is in tape.streams[0], except on the first stage, which makes it of the
  // tokens. The output is the last of tape.streams. With a cache, whose stage is forward_only, the
  // tokens follow the positions that it holds, see them, and are added to it.
  void forward(Tape<Real>& tape, KvCache<Real>* cache = nullptr);
  // Last stage only, after forward(), of a stage that is forward_only: sequences × the rank's part
  // of the vocabulary, of the token at this place of every sequence's tokens. Until the next call.
  const Real* logits(const Tape<Real>& tape, int64_t place);
  const Real* logits() const { return logits_.get(); }  // where the last ones are
  // Last stage only, after forward(): the sum of the losses of the micro-batch's tokens in nats,
  // and tape.dstream with the gradient of factor · that sum.
  double head(Tape<Real>& tape, double factor);
  // From tape.dstream, gradient of the output, to the gradient of the input, there too. `last`:
  // calls block_done.
  void backward(Tape<Real>& tape, bool last);

  // In exchanges between ranks: of the host, and of a device that waits by itself.
  double waiting_seconds() const { return waiting_seconds_ + ops_.waiting_seconds(); }
  double head_backward_seconds() const { return head_backward_seconds_; }

 private:
  LayerTape<Real> make_layer_tape();
  void allocate_head(int64_t rows);
  void forward_layer(int64_t local, const Real* in, Real* out, LayerTape<Real>& tape,
                     int64_t micro_batch, const KvCache<Real>* cache);
  // Whether the device has computed the layer as one.
  bool token_layer(int64_t local, Real* stream, LayerTape<Real>& tape, int64_t micro_batch,
                   const KvCache<Real>& cache);
  void attend(int64_t local, LayerTape<Real>& tape, const KvCache<Real>* cache);
  void backward_layer(int64_t local, const Real* in, Real* dstream, LayerTape<Real>& tape,
                      int64_t micro_batch);
  void head_chunk(int64_t first, int64_t rows, const Tape<Real>& tape, double factor, double& loss);
  PlaceInStep place(PlaceInStep::Part part, int64_t local, int64_t micro_batch) const;
  // Exchanges among the ranks that share matrices; they count as waiting.
  const Real* gathered(const Real* own, Real* whole);  // tokens of all of them
  const Real* reduced(Real* whole, Real* own);         // sums, of the tokens of the own stream
  template <typename F>
  void exchange(F call);
  // A layer's products: y (rows × out) = x (rows × in)·wᵀ, dx = dy·w, and dw += dyᵀ·x.
  void linear(const Real* x, const Real* w, Real* y, int64_t rows, int64_t out, int64_t in);
  void linear_backward(const Real* dy, const Real* w, Real* dx, int64_t rows, int64_t out,
                       int64_t in);
  void linear_gradient(const Real* dy, const Real* x, Real* dw, int64_t rows, int64_t out,
                       int64_t in);
  void head_product(const Product<Real>& product);

  Backend<Real>& ops_;
  Fabric<Real>& fabric_;
  const Stage stage_;
  Parameters<Real>& parameters_;
  Watch<Real>& watch_;
  Hooks hooks_;
  bool divided_;  // the stream, over ranks that share matrices
  std::shared_ptr<Real[]> whole_, own_, dwide_, dqkv_;  // scratch
  std::shared_ptr<Real[]> logits_, rows_, head_normed_, dhead_;
  int64_t head_rows_ = 0;  // of logits at a time
  double waiting_seconds_ = 0, head_backward_seconds_ = 0;
};

// Rows of logits that exist at a time.
int64_t rows_of_head(const Stage& stage);
// Elements that a decoder and its tape need besides those of memory_of_rank().
int64_t scratch_elements(const Stage& stage);

extern template class Decoder<float>;
extern template class Decoder<double>;

}  // namespace cb::training
