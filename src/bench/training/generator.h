#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bench/training/decoder.h"
#include "model/training/inference_cost.h"
#include "model/training/synthetic_text.h"

namespace cb::training {

// What passing the prompt or one more token gave.
struct Pass {
  double seconds = 0;    // until every rank of the replica knows the next token of each sequence
  double exchanged = 0;  // of these, in exchanges between ranks
  bool finite = true;    // false on every rank of the replica if one rank saw a number that is not
};

// How far the logits with a cache are from those without.
struct CacheError {
  double value = 0;       // a share of the logits, the largest of all tokens; NaN fails
  int64_t new_token = 0;  // where it was found
};

// Generates the most likely next tokens of one replica's sequences. All calls are collective over
// the ranks that share matrices.
template <typename Real>
class Generator {
 public:
  // `stage` is forward_only; its batch is replaced by the generation's. `first_sequence`: number of
  // the replica's first sequence in the text.
  Generator(Backend<Real>& backend, Fabric<Real>& fabric, Stage stage, Parameters<Real>& parameters,
            const Generation& generation, const Text& text, int64_t first_sequence);

  // Empties the cache, computes the prompt, and chooses the first new token of each sequence.
  Pass prefill();
  // One more token of each sequence.
  Pass step();
  int64_t chosen() const { return chosen_; }  // new tokens of a sequence until now

  // Plants a fault in the cache: an element of the middle position's values in that layer.
  void spoil_cache(int64_t layer, bool nan);
  // Where the first number was not finite on this rank, in the last pass.
  const std::optional<PlaceInStep>& not_finite() const { return watch_.not_finite(); }

  // sequences × (prompt + new tokens).
  const std::vector<int32_t>& tokens() const { return tokens_; }
  // Of what this rank computed since prefill(): the cache of each layer, then the logits of each
  // new token.
  std::vector<uint64_t> hashes() const;
  int64_t cache_bytes() const;
  // Whether a step is recorded by the device, and why not: known when the first step is tried.
  bool recorded() const { return recording_ != nullptr; }
  bool tried_to_record() const { return tried_to_record_; }
  const Said& why_not_recorded() const { return why_not_recorded_; }

  // Passes all tokens without a cache, and compares the logits of each new token: the largest and
  // the chosen one's, over the largest logit; of the first and the last new token all logits, root
  // mean square over root mean square.
  CacheError compare_without_cache();

 private:
  // What is kept of the logits of one new token, for compare_without_cache().
  struct Kept {
    std::vector<Real> top;     // of each sequence, over all ranks
    std::vector<Real> logits;  // of this rank; of the first and the last token alone
  };
  Pass pass(Decoder<Real>& decoder, const std::function<void()>& compute);
  void compute(Decoder<Real>& decoder, Tape<Real>& tape, int64_t place);
  void compute_step();
  void record_step();
  bool all_recorded(bool mine);
  void choose(const Real* logits);
  void take_tokens();
  void keep();
  void begin_tokens(const Text& text, int64_t first_sequence);
  // `count` tokens of each sequence from that position on.
  std::vector<int32_t> slice(int64_t first, int64_t count) const;
  double difference(const Real* logits, int64_t new_token);
  static double difference_of_all(const Real* logits, const Kept& kept);
  double difference_of_few(const Real* logits, int64_t new_token);
  // Parts of answer_: of each sequence the largest logit, the next tokens and whether all is
  // finite, and the marks of the places.
  int64_t candidates_at() const { return generation_.sequences; }
  int64_t marks_at() const { return 2 * generation_.sequences + 1; }

  Backend<Real>& ops_;
  Fabric<Real>& fabric_;
  const Generation generation_;
  const Stage prompt_stage_, token_stage_;
  Parameters<Real>& parameters_;
  Watch<Real> watch_;
  Decoder<Real> prompt_, token_;
  Tape<Real> prompt_tape_, token_tape_;
  KvCache<Real> cache_;
  std::vector<int32_t> tokens_;
  int64_t chosen_ = 0;
  std::shared_ptr<Real[]> answer_, position_, one_;  // of the device
  std::vector<Real> said_;                           // answer_ of the last pass
  const Real* logits_ = nullptr;                     // of the last pass
  std::unique_ptr<Recording> recording_;
  Said why_not_recorded_;
  bool tried_to_record_ = false;
  std::vector<Kept> kept_;
  std::vector<uint64_t> logit_hashes_;
  double choosing_seconds_ = 0;  // in exchanges of the next token
};

extern template class Generator<float>;
extern template class Generator<double>;

}  // namespace cb::training
