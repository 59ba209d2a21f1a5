#pragma once

namespace cb {

// From now on SIGINT, SIGTERM and SIGHUP are counted instead of ending the process; SIGPIPE is
// ignored.
void catch_stop_signals();

// How often the user has asked to stop since then.
int stop_signals();

}  // namespace cb
