#pragma once

#include <exception>
#include <functional>

#include "bench/harness/cancel.h"
#include "bench/harness/comm.h"

namespace cb::training {

// Collective. Each rank does `work` by itself, and all meet behind it: a rank whose device was lost
// does not leave the others in an exchange that it never comes to. What failed here is thrown when
// all have met; false: it failed on another rank.
inline bool meet_behind(Comm& comm, const std::function<void()>& work) {
  std::exception_ptr failed;
  try {
    work();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  const bool any = comm.any(failed != nullptr);
  if (failed) std::rethrow_exception(failed);
  return !any;
}

}  // namespace cb::training
