#pragma once

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "bench/training/infer_session.h"
#include "model/training/arrivals.h"

namespace cb::training {

// Numbers of sequences that a replica generates at once: the powers of two below `most`, and
// `most`. Fewer requests than sequences are filled up with ones that nobody asked for.
std::vector<int64_t> generation_sizes(int64_t most);

// Seconds of those generations that were of `most` sequences, asked for or filled up.
std::vector<double> seconds_of_full(std::span<const Serving> servings, int64_t most);

// As inference_memory(), for a replica that holds a generator of each size.
double load_memory(const Shape& shape, int tensor, const Generation& most, int element_bytes);

// What a replica did under load. Moments are on the first of its ranks, and empty elsewhere.
struct Loaded {
  std::vector<double> arrivals;
  std::vector<Serving> servings;
  std::vector<double> full_seconds;  // of each generation of all sequences: before and under load
  Findings found;
  bool good = false;             // on every rank alike; else there are no numbers
  std::exception_ptr lost = {};  // as Generated has it
};

// Requests that arrive in a Poisson process of their own for each replica. The clock of a replica
// goes on while it waits and while it generates, and stands while it checks what it generated.
class LoadSession {
 public:
  // options.generation: the most sequences at once.
  LoadSession(Context& context, const InferOptions& options, Backend<float>& backend,
              Fabric<float>& fabric, Parameters<float>& parameters, const Text& text);
  ~LoadSession();
  LoadSession(const LoadSession&) = delete;
  LoadSession& operator=(const LoadSession&) = delete;

  const Generator<float>& largest() const;
  // Collective over the job.
  Loaded run(double requests_per_second, int64_t requests);

 private:
  struct Sized;
  class Replica;

  bool generate_each_size(Loaded& out);
  void lead(Loaded& out, double rate, int64_t requests);
  void follow();
  bool announce(size_t count, bool ended = false);
  bool generate(Sized& sized, const std::function<void(const Pass&)>& passed);
  Sized& sized_for(size_t count);
  bool all_are_good(bool mine);
  void find(Findings& found);
  void compare(Loaded& out);
  std::exception_ptr lost() const;

  Context& context_;
  const InferOptions options_;
  Fabric<float>& fabric_;
  std::vector<std::unique_ptr<Sized>> sizes_;
  size_t announced_ = 0;  // requests of the next generation; 0: none yet
  bool stopped_ = false;  // every rank of the replica knows that nothing more comes
};

}  // namespace cb::training
