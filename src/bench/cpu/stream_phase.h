#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/cpu/stream_team.h"
#include "bench/harness/case.h"

namespace cb {

// STREAM on one part of each host: the ranks that have threads there run together.
struct StreamPhase {
  std::string kind;            // kind of the entity, "host" or "numa"
  std::string id;              // id of the entity; for "host" the host's name
  std::vector<int> cpus = {};  // this rank's CPUs in that part; empty: the rank only waits
  size_t elements = 0;         // length of each array in this rank's share
};

struct StreamPlan {
  std::vector<StreamOp> ops;
  std::string stores;  // "auto", "regular", "streaming"
  SamplePlan samples;
  bool faulty = false;  // one element is spoilt before the arrays are verified
};

// What one rank measured.
struct StreamShare {
  std::string host;
  std::string kind, id;
  std::map<StreamOp, std::vector<double>> seconds;  // one value per pass through all kernels
  std::map<StreamOp, Said> variant;
  std::vector<double> read_seconds;  // one value per pass that only reads the three arrays
  size_t elements = 0;
  int threads = 0;
  StreamErrors errors;
};

// Runs the kernels one after the other, again and again, as STREAM does, on all ranks together.
// Then verifies the arrays. Collective.
StreamShare run_stream(Context& context, const StreamPhase& phase, const StreamPlan& plan);

// Returns every rank's share on rank 0, nothing on other ranks. Collective.
std::vector<StreamShare> gather_shares(Comm& comm, const StreamShare& mine);

// Bytes per second of several ranks that ran together: their bytes, as STREAM counts them, over the
// slowest rank's time, for every pass. The shares must have the same number of passes.
std::vector<double> combined_bandwidth(const std::vector<const StreamShare*>& shares, StreamOp op);

// The highest rate that this memory gave these ranks together, in bytes per second: the fastest
// pass of all kernels in `ops` and of reading alone.
double fastest_bandwidth(const std::vector<const StreamShare*>& shares,
                         const std::vector<StreamOp>& ops);

}  // namespace cb
