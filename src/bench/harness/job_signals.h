#pragma once

#include "bench/harness/cancel.h"

namespace cb {

// While it lives the first SIGINT or SIGTERM cancels the token, and a second one of the same kind
// ends the process: nobody has to wait for a stuck iteration. SIGPIPE is ignored. At most one at a
// time.
class CancelOnSignal {
 public:
  explicit CancelOnSignal(CancelToken& token);
  ~CancelOnSignal();
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;
};

}  // namespace cb
