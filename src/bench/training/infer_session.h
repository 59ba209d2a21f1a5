#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/training/generator.h"
#include "bench/training/infer_options.h"

namespace cb::training {

// What the timed generations gave on this rank.
struct Generated {
  std::vector<double> first_token_seconds;  // of each generation: the prompt and its first token
  std::vector<double> token_seconds;        // of each further token of each generation, in order
  std::vector<double> exchanged_seconds;    // of these, in exchanges between ranks
  Ledger prompt_ledger;                     // of one pass over the prompt
  std::optional<CacheError> cache_error = {};
  bool stopped = false;          // wrong data, or a lost device, ended it
  std::exception_ptr lost = {};  // what this rank's device threw, thrown again when all have met
};

// Logits with a cache may differ from those without by this share of them. Both add the same
// products in another order, in bf16 of numbers that are rounded elsewhere: docs/methods/infer.md,
// docs/methods/gpu-infer.md.
double cache_limit(const Shape& shape, bool bf16 = false);

// What the checks of generated tokens found on this rank.
struct Findings {
  Said not_finite, differs;
  std::optional<CacheError> cache_error;  // nothing: wrong data ended it before
};
void add_infer_checks(Record& record, size_t self, const std::string& who,
                      const InferOptions& options, const Findings& found);

// Generates again and again, once untimed and then --repetitions times, and compares. All calls are
// collective over the job.
class InferSession {
 public:
  InferSession(Context& context, const InferOptions& options, Backend<float>& backend,
               Fabric<float>& fabric, Generator<float>& generator);

  // Wrong data ends it on every rank after the same generation.
  Generated generate();
  void add_checks(Record& record, size_t self, const Generated& measured) const;

  // One generation, collective over the ranks of the replica alone. `passed` takes each pass as
  // soon as its tokens are known. False, on all of them: a number was not finite.
  // Or its device was lost.
  bool generate_once(const std::function<void(const Pass&)>& passed);
  // Behind it, collective over the same ranks: whether it had the bits of the first one.
  // False: the device was lost.
  bool look_at_repetition();
  // Collective over the same ranks. Nothing: the device was lost.
  std::optional<CacheError> compare_without_cache();
  // Where and on which rank it was found; empty if nothing was, or if another rank is named.
  const Said& not_finite() const { return not_finite_; }
  const Said& differs() const { return differs_; }
  // Why this rank's device was lost in a generation. Only of a replica of one rank: several wait
  // for each other by other means.
  const std::exception_ptr& lost() const { return lost_; }

 private:
  double one_generation(Spans& spans, Generated& measured);
  bool guarded(const std::function<bool()>& work);
  bool pass_all(const std::function<void(const Pass&)>& passed);
  void compare_with_first();
  void take_pass(const Pass& pass);
  bool first_of_replica(int64_t place);
  Said where(int64_t place) const;

  Context& context_;
  const InferOptions& options_;
  Backend<float>& backend_;
  Fabric<float>& fabric_;
  Generator<float>& generator_;
  std::vector<uint64_t> reference_;  // hashes of the first generation
  int64_t generations_ = 0;
  bool finite_ = true;
  std::exception_ptr lost_;
  Said not_finite_, differs_;  // where, on the rank of the replica where it began
};

}  // namespace cb::training
