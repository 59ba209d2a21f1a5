// Threads that nobody joins, because a call that is stuck in a driver cannot be ended, and the end
// of a process in which one of them still runs, or which a library ends.
#pragma once

#include <functional>

namespace cb {

// Starts `work` on a thread of its own that nobody joins. `work` must own all that it uses; what it
// owns is destroyed on that thread. Throws Error if no thread can be made.
void run_left_behind(std::function<void()> work);

// Returns how many threads of run_left_behind() have not ended.
int threads_left_behind();

// For main(), before anything else: from here on exit(0) and quick_exit(), which a library may
// call, end the process with exit code 4 and a message, so that nobody takes it for success.
// end_of_process() ends that. _exit(0) tells nobody, and is not noticed.
void refuse_foreign_end();

// Returns `exit_code` for main() to return if all of those threads have ended, for which it waits
// `patience_seconds`, and libraries were not tried (dl_trial.h), whose destructors may do harm.
// Otherwise ends the process here, with its output written but without calling exit(): that
// destroys the objects that the threads still use, and a thread that comes back from its driver
// meanwhile then ends the process by a signal.
int end_of_process(int exit_code, double patience_seconds = 2);

}  // namespace cb
