#pragma once

#include "bench/harness/case.h"
#include "bench/storage/io/run.h"
#include "core/result.h"

// Figures of a record beyond one rank's means: over time, per thread, and over all ranks.
namespace cb::io {

// Adds rate, mean and largest latency over time. Times count from the run's start, `lead` seconds
// before the counted time, so that they line up with the other time lines of the record.
void add_time_lines(Record& record, Direction direction, double lead,
                    const RateSeries::Intervals& intervals, size_t self);

// Adds each thread's rate, in the order of the threads, if the job has several.
void add_threads(Record& record, const Job& job, const RunResult& run, size_t self);

// What one rank contributes to the figures of all ranks.
struct RankFigures {
  const Tally& tally;          // counts of one direction
  bool durable = false;        // the rank wrote with fsync: the next two fields count
  double bytes_in_all = 0;     // bytes written, warm-up included
  double durable_seconds = 0;  // time of writing, fsync and close
  const RunResult& run;
  bool by_time = false;  // the job is bounded by time: all ranks end at the same moment
  size_t self = 0;
};

// Adds the rate of all ranks together, over the slowest rank's time (a checkpoint is there when its
// last part is), and names that rank. For jobs bounded by size it also adds when the first and the
// last thread was done, and the rate until the first was (the "stonewall" of IOR and elbencho: all
// threads work until then). Adds none if some rank's figures are not `good`. Collective.
void add_figures_of_all(Record& record, Context& context, const RankFigures& mine, bool good);

}  // namespace cb::io
