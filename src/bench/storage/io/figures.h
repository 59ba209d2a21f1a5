#pragma once

#include "bench/harness/case.h"
#include "bench/storage/io/run.h"
#include "core/result.h"

// Figures of a record beyond one rank's means: over time, of its threads, and of all ranks.
namespace cb::io {

// Rate, mean and largest latency over time, from the run's start (so `lead` seconds before the
// counted time too) so that they stand beside the other time lines of the record.
void add_time_lines(Record& record, Direction direction, double lead,
                    const RateSeries::Intervals& intervals, size_t self);

// Of a job with several threads each one's rate, in the order of the threads.
void add_threads(Record& record, const Job& job, const RunResult& run, size_t self);

// What one rank brings to the figures of all.
struct RankFigures {
  const Tally& tally;          // of the direction
  bool durable = false;        // written, with fsync: then the following two count
  double bytes_in_all = 0;     // warm-up included
  double durable_seconds = 0;  // of writing, fsync and close
  const RunResult& run;
  bool by_time = false;  // the job is bounded by time: all are done at the same moment
  size_t self = 0;
};

// Collective. Aggregates by the slowest rank's time, since a checkpoint is there when its last part
// is, and who that was; of jobs bounded by size when the first and the last thread was done, and
// the rate until the first was (the "stonewall" of IOR and elbencho: while all worked). None if
// some rank's figures are not `good`.
void add_figures_of_all(Record& record, Context& context, const RankFigures& mine, bool good);

}  // namespace cb::io
