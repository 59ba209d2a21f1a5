// Libraries are opened in a child process before they are opened here. Opening runs a library's
// constructors, and no handler saves the process that they crash, that they end, or in which they
// hang with the loader's lock (docs/design/decisions/0154-a-child-opens-libraries-first.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb::library_trial {

// The time of a trial.
inline constexpr double kSeconds = 8;

// Who waits for an opening waits this long: a library that opens just within its trial needs the
// same time again here, and its first calls some more.
inline constexpr double kPatience = 2 * kSeconds + 4;

// Set in a process that has its libraries tried, and so in all that they start there. A process
// that is to open libraries again, as on another host, is started without it.
inline constexpr const char* kMarker = "CLUSTERBENCH_LIBRARY_TRIAL";

// From here on DynamicLibrary::open() has each library tried. `program` and the words of a trial
// are the child's command line; none ends the trials. Where a library has started this process from
// within another that has its libraries tried, none is opened: each would start a further one. Not
// for processes that measure, and not under MPI: a child for each rank and library costs too much,
// and a process that has RDMA memory must not fork.
void begin(std::vector<std::string> program = {"/proc/self/exe"}, double seconds = kSeconds);

bool has_begun();

struct Unsafe {
  std::string name;
  Said why;
};

// The first of the names that does not let go of the child, with what it does; nothing if all up to
// the first that opens come back, if no child can be started, or before begin(). Asks once for the
// same names.
std::optional<Unsafe> first_unsafe(const std::vector<std::string>& names, int flags);

// True if a trial's finding is the reason, or a part of it.
bool is_unsafe(const Said& why);
bool is_slow(const Said& why);  // the finding is that it did not come back in time

// For main(): true if this process is such a child, which then only does its trial.
bool is_asked_for(int argc, char** argv);
[[noreturn]] void run(int argc, char** argv);

}  // namespace cb::library_trial
