#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bench/training/checkpoint.h"
#include "bench/training/options.h"
#include "bench/training/prediction.h"

namespace cb::training {

// What the steps gave on this rank.
struct Trained {
  std::vector<double> losses;  // of every step; the same on all ranks
  SampleRun run;               // of the timed steps: seconds, and spans
  // Of all ranks, by rank, over the timed steps: the median and the least.
  std::vector<double> computing_seconds, least_seconds;
  Ledger ledger;  // of one step
  // Of each checkpoint: while it is written no step is done. The parts are this rank's own: making
  // its file ready, writing it, and waiting for the last rank.
  std::vector<double> checkpoint_seconds, checkpoint_host_seconds, checkpoint_storage_seconds,
      checkpoint_wait_seconds;
  Said checkpoint_how;           // the path to the device and the engine
  int64_t checkpoint_bytes = 0;  // of one
  int64_t resumed_at = 0;        // steps that were done before; 0: from the begin
  std::string weights_digest;    // of all ranks' weights at the end, on rank 0
  int64_t memory_bytes = 0;
  bool stopped = false;  // wrong data ended it
  bool crowded = false;  // ranks share cores somewhere: no straggler is sought

  double longest_step() const;  // seconds, of the timed steps
};

// Names of the spans of a step.
extern const std::vector<std::string> kSpans;

// The checks that need all ranks: each returns this rank's own checks, with those of rank 0 for
// the whole job. All are collective.
class Session {
 public:
  Session(Context& context, const Options& options, Trainer<float>& trainer,
          Backend<float>& backend);

  // CPUs that the rank was started on, where a case has bound this thread since.
  void was_started_on(std::vector<int> cpus) { started_on_ = std::move(cpus); }
  // Trains all steps. Wrong data ends it on every rank after the same step.
  Trained train();
  // What was found: into the record, as checks of the rank's own entity or of the whole job.
  void add_checks(Record& record, size_t self, size_t whole, const Trained& measured) const;

 private:
  void together(const std::function<void()>& call);
  double checkpoint_patience();
  void begin_checkpoints(Trained& measured);
  void resume(Trained& measured);
  void save_checkpoint(Trained& measured);
  std::string digest_of_weights();
  std::vector<std::span<float>> arrays() const;
  // The arrays where files are read and written: themselves, or room for them on the host.
  std::vector<std::span<float>> arrays_on_host();
  double one_step(Spans& spans, Trained& measured);
  void compare_twins();
  void compare_weights();
  void locate_not_finite();
  void share_computing(Trained& measured);
  std::vector<Suspect> suspects_of(const std::vector<TracePoint>& trace);
  void add_straggler_check(Record& record, size_t self, const Trained& measured) const;
  void suspect(const char* check, const std::vector<Suspect>& suspects);

  Context& context_;
  const Options& options_;
  Trainer<float>& trainer_;
  Backend<float>& backend_;
  // Checks that were made, and the ranks that failed them.
  std::map<std::string, std::vector<Suspect>> found_;
  int64_t done_ = 0;
  std::optional<Checkpoints> checkpoints_;
  double patience_ = 0;                     // seconds that a checkpoint may take
  std::vector<int> started_on_, share_;     // CPUs; the share is for the digests of checkpoints
  std::vector<std::vector<float>> staged_;  // what a checkpoint holds, where the device's memory
                                            // is not the host's
};

}  // namespace cb::training
