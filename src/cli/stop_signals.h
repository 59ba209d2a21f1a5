#pragma once

namespace cb {

// From now on counts SIGINT, SIGTERM and SIGHUP instead of letting them end the process. SIGPIPE is
// ignored.
void catch_stop_signals();

// Number of stop signals counted since then.
int stop_signals();

}  // namespace cb
