// Groups of ranks train at the same time, each by itself, and meet behind each level: so all parts
// work at every level, and nobody waits for longer than the groups differ.
#include "bench/training/scaling_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bench/harness/comm_mpi.h"
#include "bench/harness/points.h"
#include "core/clock.h"

namespace cb::training {
namespace {

constexpr auto kAskEvery = std::chrono::milliseconds(1);
// A group that takes longer than the others by more than this factor does not come.
constexpr double kSlowestGroup = 10;

// What became of a level on a rank; the largest over all ranks counts.
enum Outcomes { with_numbers = 0, without_numbers = 1, level_interrupted = 2 };

// A part of the job's ranks, as a case sees them.
class PartContext {
 public:
  // Collective over the job. `first`: rank of the job, the same for all ranks of the part.
  PartContext(const Context& job, int first)
      : comm_(part_of(job.comm, first, job.comm.rank())),
        place_(locate_ranks(*comm_, job.place.host)),
        sampler_(*comm_, job.watchdog, job.cancel),
        context_{*comm_,       place_, sampler_,      job.watchdog, job.cancel,
                 job.progress, job.fs, job.inventory, job.info} {
    context_.logger = job.logger;
    context_.redact = job.redact;
    context_.called = job.who();
  }
  PartContext(const PartContext&) = delete;
  PartContext& operator=(const PartContext&) = delete;

  Context& context() { return context_; }

 private:
  std::unique_ptr<Comm> comm_;
  RankMap place_;
  Sampler sampler_;
  Context context_;
};

// Collective over the job. Sleeps until all have come. One that waits for a failed rank of its own
// group is idle and is ended by its watchdog; one that has finished waits for slower groups.
// A group with wrong data ends early, and says nothing of how long the others take.
Outcomes meet_behind_level(const Context& job, Outcomes mine, const Said& failure, double took) {
  Watchdog& watchdog = job.watchdog;
  watchdog.note("waiting for the other groups of the level");
  if (!failure.empty()) watchdog.fail(pack_said(failure));
  const double patience =
      mine == with_numbers ? kSlowestGroup * took : std::numeric_limits<double>::infinity();
  const Watchdog::Bounded waiting(watchdog, patience);
  const Watchdog::Meeting met(watchdog);
  const auto all = job.comm.start_max(mine);
  std::optional<double> worst;
  while (!(worst = all->result())) std::this_thread::sleep_for(kAskEvery);
  const double furthest = job.comm.max(static_cast<double>(watchdog.state().iterations));
  watchdog.count_from(static_cast<uint64_t>(furthest));
  return static_cast<Outcomes>(*worst);
}

const Metric* group_rate(const Record& record) { return record.find("tokens_per_second"); }

// Of this rank's share: a failed check of the data leaves no number.
bool has_numbers(const Record& record, bool first_of_group) {
  const auto wrong = [](const Check& c) { return !c.passed && !c.finding; };
  if (std::ranges::any_of(record.checks, wrong)) return false;
  return !first_of_group || group_rate(record) != nullptr;
}

int hosts_of(const std::vector<int>& groups, int first, const RankMap& place) {
  std::set<int> hosts;
  for (size_t rank = 0; rank < groups.size(); ++rank)
    if (groups[rank] == first) hosts.insert(place.host_of_rank[rank]);
  return static_cast<int>(hosts.size());
}

// Nothing: a rank alone.
std::optional<Entity> entity_of_group(const ScalingPoint& point, const std::vector<int>& groups,
                                      int first, const RankMap& place) {
  if (point.level == Level::all) return Entity{"", "cluster", ""};
  if (point.level == Level::host) return Entity{place.host, "host", ""};
  const auto ranks = std::ranges::count(groups, first);
  if (ranks == 1) return std::nullopt;
  return Entity{hosts_of(groups, first, place) == 1 ? place.host : "", "group",
                fmt::format("ranks {}-{}", first, first + ranks - 1)};
}

class ScalingRun {
 public:
  ScalingRun(Context& context, const TrainingJob& job, const TrainTogether& train)
      : job_(context),
        params_(job.params),
        all_(job.options),
        crowded_(job.crowded),
        points_(job.points),
        train_(train) {}

  std::vector<Record> run() {
    return run_points(
        job_, "train", points_,
        [&](const ScalingPoint& p) {
          return PointName{params_of(p), fmt::format("{} {} steps, {}, {}", all_.shape.name,
                                                     all_.steps, kind_name(p), level_name(p))};
        },
        [&](const ScalingPoint& p) { return measure(p); });
  }

 private:
  Params params_of(const ScalingPoint& point) const {
    return params_.with("scaling", kind_name(point)).with("level", level_name(point));
  }

  Record measure(const ScalingPoint& point) {
    const std::vector<int> groups =
        groups_of(point.level, job_.place, all_.layout.tensor * all_.layout.pipeline);
    if (point.level == Level::all) return train_as(point, job_, groups);
    const double begin = monotonic_seconds();
    std::optional<PartContext> part;
    std::exception_ptr thrown;
    Said failure;
    Record record;
    Outcomes mine = with_numbers;
    try {
      part.emplace(job_, groups[static_cast<size_t>(job_.comm.rank())]);
      record = train_as(point, part->context(), groups);
      if (!has_numbers(record, part->context().comm.is_root())) mine = without_numbers;
    } catch (const Interrupted&) {
      mine = level_interrupted;
    } catch (const std::exception& e) {
      thrown = std::current_exception();
      failure = said_by(e);
      mine = without_numbers;
    }
    const Outcomes worst = meet_behind_level(job_, mine, failure, monotonic_seconds() - begin);
    if (worst == level_interrupted) throw Interrupted();
    if (thrown) std::rethrow_exception(thrown);
    if (worst == with_numbers) keep_rate(point, record, part->context().comm.is_root());
    return record;
  }

  Record train_as(const ScalingPoint& point, Context& context, const std::vector<int>& groups) {
    const int rank = job_.comm.rank(), first = groups[static_cast<size_t>(rank)];
    const Options options = options_at(point, all_, groups, rank);
    const Params params = params_of(point);
    Record record =
        train_({context, job_, params, options, entity_of_group(point, groups, first, job_.place)});
    record.facts["groups"] = said("train.groups", std::set(groups.begin(), groups.end()).size(),
                                  context.comm.size(), hosts_of(groups, first, job_.place));
    record.facts["batch"] =
        said("train.step_batch", options.layout.data, options.batch.micro_batches,
             options.batch.sequences, options.batch.sequence);
    add_efficiencies(record, context.comm, point);
    return record;
  }

  void keep_rate(const ScalingPoint& point, const Record& record, bool first_of_group) {
    rates_[point] = first_of_group ? group_rate(record)->samples.summary().median : 0;
  }

  // Collective over `together`.
  void add_efficiencies(Record& record, Comm& together, const ScalingPoint& point) {
    const auto base = std::ranges::find(points_, point.strong, &ScalingPoint::strong);
    if (point == *base) return;
    if (crowded_) {
      record.notes.push_back(said("train.scaling_crowded"));
      return;
    }
    add_efficiency(record, together, "scaling_efficiency", *base);
    const ScalingPoint hosts{point.strong, Level::host};
    if (point.level == Level::all && std::ranges::count(points_, hosts) > 0)
      add_efficiency(record, together, "host_scaling_efficiency", hosts);
  }

  void add_efficiency(Record& record, Comm& together, const char* metric,
                      const ScalingPoint& against) {
    const auto own = rates_.find(against);
    if (own == rates_.end()) {  // on all ranks alike
      record.notes.push_back(said("train.scaling_no_base", metric, level_name(against)));
      return;
    }
    const double apart = together.sum(own->second);
    const Metric* rate = group_rate(record);
    if (rate == nullptr) return;
    const size_t entity = rate->entity;
    record.add(metric, entity,
               rate->samples.mapped([apart](double tokens) { return tokens / apart; }));
  }

  Context& job_;
  const Params& params_;
  const Options& all_;
  const bool crowded_;
  const std::vector<ScalingPoint>& points_;
  const TrainTogether& train_;
  // Tokens per second of the group whose first rank this is, by what was measured with numbers on
  // all ranks; 0 on its other ranks.
  std::map<ScalingPoint, double> rates_;
};

}  // namespace

std::vector<Record> train_groups(Context& context, const TrainingJob& job,
                                 const TrainTogether& train) {
  if (!job.points.empty()) return ScalingRun(context, job, train).run();
  const Options& all = job.options;
  return run_points(
      context, "train", std::vector<Params>{job.params},
      [&](const Params& p) {
        return PointName{p, fmt::format("{} {} steps", all.shape.name, all.steps)};
      },
      [&](const Params& p) {
        return train({context, context, p, all, Entity{"", "cluster", ""}});
      });
}

}  // namespace cb::training
