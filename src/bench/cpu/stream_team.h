#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu/memory.h"
#include "bench/cpu/stream_kernels.h"
#include "bench/cpu/team.h"

namespace cb {

// STREAM's arrays, every thread's part touched first by that thread, and the kernels run on them by
// all threads together. Knows what every element must be, so that it can verify at any time.
class StreamTeam {
 public:
  // `elements` of each of the three arrays; rounded up to whole cache lines a thread.
  StreamTeam(std::vector<int> cpus, size_t elements);

  // One pass of a kernel by all threads; seconds from the common start to the last thread's end.
  double pass(StreamOp op, const StreamVariant& variant);

  // Reads all three arrays once, nothing written: seconds as pass() counts them.
  double read_pass();

  // The fastest of the variants of that name ("auto": of all) in three passes each. Throws Error if
  // none is for this CPU.
  const StreamVariant& fastest(StreamOp op, const std::string& name);

  // Fills the arrays with STREAM's starting values.
  void reset();
  StreamErrors verify_all();
  // Turns the sign of one element of the first array.
  void spoil();

  int threads() const { return team_.size(); }
  size_t elements() const { return elements_; }
  const std::vector<int>& cpus() const { return team_.cpus(); }

 private:
  StreamArrays part(int index) const;

  Team team_;
  size_t elements_;
  Pages<double> a_, b_, c_;
  StreamValues expected_;
};

}  // namespace cb
