// What a training saves and goes on from. docs/methods/checkpoint.md.
#include <algorithm>

#include <fmt/format.h>

#include "bench/training/rank_share.h"
#include "bench/training/rank_values.h"
#include "bench/training/session.h"
#include "core/clock.h"

namespace cb::training {
namespace {

// Storage that is slower is taken to hang. Until then ranks may stand: they flush, or wait for the
// one whose file is the last.
constexpr double kSlowestStorage = 10e6;  // bytes per second of a rank
// Two files are read to know them, again to compare ranks, and one of them to be loaded.
constexpr double kReadsOfResume = 5;

}  // namespace

// Collective. Seconds that one checkpoint of the rank with the most data may take.
double Session::checkpoint_patience() {
  double bytes = 0;
  for (const auto& array : arrays()) bytes += static_cast<double>(array.size_bytes());
  return context_.comm.max(bytes) / kSlowestStorage;
}

std::vector<std::span<float>> Session::arrays() const {
  Parameters<float>& p = trainer_.parameters();
  const auto state = static_cast<size_t>(p.state_count());
  return {{p.weights(), static_cast<size_t>(p.count())}, {p.mean(), state}, {p.square(), state}};
}

std::vector<std::span<float>> Session::arrays_on_host() {
  std::vector<std::span<float>> out = arrays();
  if (backend_.on_host()) return out;
  staged_.resize(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    staged_[i].resize(out[i].size());
    out[i] = staged_[i];
  }
  return out;
}

// Collective. A resume removes what a killed process of the same number, as in a container, was
// writing, and looks only then whether it can write.
void Session::begin_checkpoints(Trained& measured) {
  patience_ = checkpoint_patience();
  share_ = share_of_rank(context_.comm, context_.place, started_on_);
  const OnAllOfRank reading_by(share_);
  const Watchdog::Bounded reading(context_.watchdog,
                                  options_.resume ? kReadsOfResume * patience_ : 0);
  together([&] {
    checkpoints_.emplace(options_.checkpoint_dir, context_.comm.rank(), options_.identity(),
                         [this] { context_.watchdog.alive(); });
  });
  const auto require_writable = [&] { together([&] { checkpoints_->require_writable(); }); };
  if (!options_.resume) require_writable();
  if (options_.resume) resume(measured);
  together([&] { checkpoints_->require_own(options_.resume); });
  if (options_.resume) require_writable();
}

// The newest step of which every rank has a whole checkpoint: a rank that was killed while it wrote
// has an older one.
void Session::resume(Trained& measured) {
  int64_t common = -1;
  std::vector<std::vector<int64_t>> all;
  std::vector<int64_t> whole;
  together([&] {
    whole = checkpoints_->whole(
        [&](const Said& damage) { context_.log(said("said.of", context_.who(), damage).text()); });
  });
  for (const std::string& blob : context_.comm.gather(bytes_of(whole)))
    all.push_back(values_of<int64_t>(blob));
  if (!all.empty()) {
    for (const int64_t steps : all.front()) {
      const bool everywhere = std::all_of(all.begin(), all.end(), [&](const auto& of_rank) {
        return std::find(of_rank.begin(), of_rank.end(), steps) != of_rank.end();
      });
      if (everywhere) common = std::max(common, steps);
    }
  }
  common = static_cast<int64_t>(context_.comm.max(static_cast<double>(common)));
  if (common < 0) throw Error(said("train.no_whole_checkpoint", options_.checkpoint_dir));
  if (options_.steps - common <= options_.warm_up)
    throw Error(said("train.nothing_left", common, options_.steps, options_.warm_up));
  together([&] {
    const auto staged = arrays_on_host(), own = arrays();
    checkpoints_->load(common, staged);
    for (size_t i = 0; i < own.size() && !backend_.on_host(); ++i)
      backend_.put(own[i].data(), staged[i].data(), static_cast<int64_t>(own[i].size()));
  });
  trainer_.resume_at(common);
  done_ = measured.resumed_at = common;
}

void Session::save_checkpoint(Trained& measured) {
  context_.watchdog.note(fmt::format("checkpoint after step {}", done_));
  const Watchdog::Bounded saving(context_.watchdog, patience_);
  std::vector<std::span<const float>> state;
  measured.checkpoint_bytes = 0;
  const double start = monotonic_seconds();
  const auto staged = arrays_on_host(), own = arrays();
  for (size_t i = 0; i < own.size(); ++i) {
    if (!backend_.on_host())
      backend_.look(staged[i].data(), own[i].data(), static_cast<int64_t>(own[i].size()));
    state.emplace_back(staged[i]);
    measured.checkpoint_bytes += static_cast<int64_t>(own[i].size_bytes());
  }
  double host = monotonic_seconds() - start, storage = 0;
  // No step begins before the last rank's file is on its device.
  together([&] {
    const OnAllOfRank digesting(share_);
    const Saved saved = checkpoints_->save(done_, state);
    host += saved.host_seconds;
    storage = saved.storage_seconds;
    measured.checkpoint_how = saved.how;
  });
  const double stall = monotonic_seconds() - start;
  measured.checkpoint_seconds.push_back(stall);
  measured.checkpoint_host_seconds.push_back(host);
  measured.checkpoint_storage_seconds.push_back(storage);
  measured.checkpoint_wait_seconds.push_back(stall - host - storage);
}

}  // namespace cb::training
