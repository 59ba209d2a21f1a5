#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/cpu/memory.h"
#include "bench/cpu/stream_kernels.h"
#include "bench/cpu/team.h"

namespace cb {

// STREAM's arrays and the threads that run the kernels on them together. Each thread touches its
// own part of the arrays first. The team knows the value that every element must have, so it can
// verify at any time.
class StreamTeam {
 public:
  // `elements`: length of each of the three arrays, rounded up to whole cache lines.
  StreamTeam(std::vector<int> cpus, size_t elements);

  // Runs a kernel once on all threads. Returns the seconds from the common start to the last
  // thread's end.
  double pass(StreamOp op, const StreamVariant& variant);

  // Reads all three arrays once and writes nothing. Returns seconds as pass() does.
  double read_pass();

  // The fastest variant of that name ("auto": of any name) in three passes each. Throws Error if
  // this CPU can run none.
  const StreamVariant& fastest(StreamOp op, const std::string& name);

  // Fills the arrays with STREAM's starting values.
  void reset();
  StreamErrors verify_all();
  // Changes the sign of one element of the first array.
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
