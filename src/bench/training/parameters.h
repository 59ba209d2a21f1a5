#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/training/stage.h"

namespace cb::training {

// One matrix or gain within its block.
struct Tensor {
  std::string name;
  int64_t offset = 0;  // elements from the begin of all parameters
  int64_t count = 0;
};

// What is exchanged and updated as one: the embedding, a layer, or the head with the last gain.
// Gains come first; ranks that share matrices all hold them whole.
struct Block {
  int64_t layer = 0;  // of the whole decoder; −1: embedding, shape.layers: head
  int64_t offset = 0;
  int64_t gains = 0;  // elements of gains at the begin
  int64_t count = 0;  // padded, so that every replica's part is equally long
  std::vector<Tensor> tensors = {};
};

// Weights of one rank, and unless the stage is forward_only gradients and the optimizer's state.
template <typename Real>
class Parameters {
 public:
  // Weights are normal with deviation 0.02, those into the residual stream divided by √(2·layers)
  // (GPT-2). They depend on the seed and their place in the whole matrix alone, so that every
  // layout begins with the same decoder.
  Parameters(Backend<Real>& backend, const Stage& stage, uint64_t seed);

  const std::vector<Block>& blocks() const { return blocks_; }
  int64_t count() const { return count_; }
  Real* weights() const { return weights_.get(); }
  Real* gradients() const { return gradients_.get(); }

  LayerWeights<Real> layer(int64_t local) const { return layer_of(weights_.get(), local); }
  LayerWeights<Real> layer_gradients(int64_t local) const {
    return layer_of(gradients_.get(), local);
  }
  // The embedding's block is the first, where the stage has it; the head's is the last.
  Real* embedding(Real* base) const { return base + blocks_.front().offset; }
  Real* head_gain(Real* base) const { return base + blocks_.back().offset; }
  Real* head(Real* base) const { return head_gain(base) + blocks_.back().gains; }

  // The range of a block that this replica updates: all of it, or with ZeRO-1 its part. `state`:
  // where its moments and its reduced gradient begin in mean(), square() and shard().
  struct Share {
    int64_t begin = 0, end = 0, state = 0;
  };
  Share share(const Block& block) const;
  // Elements of mean() and of square().
  int64_t state_count() const { return stage_.layout.zero1 ? count_ / stage_.layout.data : count_; }
  Real* mean() const { return mean_.get(); }
  Real* square() const { return square_.get(); }
  // With ZeRO-1 the summed gradients of the own shares; else they are in gradients().
  Real* shard() const { return shard_.get(); }

 private:
  LayerWeights<Real> layer_of(Real* base, int64_t local) const;
  void lay_out();
  void add_block(int64_t layer, std::vector<Tensor> gains, std::vector<Tensor> matrices);
  void initialise(uint64_t seed);
  void initialise_layer(uint64_t seed, int64_t local);

  Backend<Real>& backend_;
  Stage stage_;
  std::vector<Block> blocks_;
  int64_t count_ = 0;
  std::shared_ptr<Real[]> weights_, gradients_, mean_, square_, shard_;
};

extern template class Parameters<float>;
extern template class Parameters<double>;

}  // namespace cb::training
