#pragma once

#include <cstdint>
#include <vector>

// A text that can be learnt and of which the least possible loss is known. `symbols` of the
// vocabulary are in use. After symbol x comes π(x) of a fixed permutation with probability 1 − ε,
// else one of all symbols, each as likely.
namespace cb::training {

struct TextRule {
  int64_t vocabulary = 512;
  int64_t symbols = 256;  // at most the vocabulary
  double noise = 0.15;    // ε
};

// Entropy of the next symbol in nats, below which no loss falls on average:
// −(q·ln q + (K−1)·r·ln r) with r = ε/K and q = 1 − ε + r.
double loss_floor(const TextRule& rule);

// Loss of a head that knows nothing: its logits are normal with variance `logit_variance`, so the
// mean of −log softmax is ln V + variance/2.
double first_loss(int64_t vocabulary, double logit_variance);

// The text itself. A sequence depends on the seed and its number alone, so every rank makes its own
// part, however the ranks share the work.
class Text {
 public:
  Text(const TextRule& rule, uint64_t seed);
  // Writes `length` tokens of that sequence.
  void write(int64_t sequence, int64_t length, int32_t* tokens) const;
  // The token that follows most often.
  int32_t successor(int32_t token) const;

 private:
  TextRule rule_;
  uint64_t seed_;
  std::vector<int32_t> symbols_;  // tokens in use
  std::vector<int32_t> next_;     // the permutation, by index of symbol
};

}  // namespace cb::training
