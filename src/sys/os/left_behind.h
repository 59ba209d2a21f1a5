// Threads that nobody joins, because a call that is stuck in a driver cannot be ended, and the end
// of a process in which one of them still runs.
#pragma once

#include <functional>

namespace cb {

// Starts `work` on a thread of its own that nobody joins. `work` must own all that it uses; what it
// owns is destroyed on that thread. Throws std::system_error if no thread can be made.
void run_left_behind(std::function<void()> work);

// Returns how many threads of run_left_behind() have not ended.
int threads_left_behind();

// Returns `exit_code` for main() to return if all of those threads have ended, for which it waits
// `patience_seconds`. Otherwise ends the process here, with its output written but without calling
// exit(): that destroys the objects that the threads still use, and a thread that comes back from
// its driver meanwhile then ends the process by a signal.
int end_of_process(int exit_code, double patience_seconds = 2);

}  // namespace cb
