#include "sys/os/left_behind.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

#include "core/error.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

// Of the process: its end is what they have in common. It has no destructor.
std::atomic<int>& left_behind() {
  static std::atomic<int> running{0};
  return running;
}

std::atomic<bool>& ended_by_main() {
  static std::atomic<bool> ended{false};
  return ended;
}

// The process that is not to end so; a copy of it that a library made may.
std::atomic<pid_t>& refusing() {
  static std::atomic<pid_t> process{0};
  return process;
}

void tell_foreign_end() {
  if (ended_by_main() || ::getpid() != refusing()) return;
  constexpr std::string_view kTold =
      "clusterbench: a library has ended this process; next: clusterbench doctor names it\n";
  static_cast<void>(!::write(STDERR_FILENO, kTold.data(), kTold.size()));
  ::_exit(static_cast<int>(ExitCode::runtime));
}

void tell_foreign_success(int status, void* /*nothing*/) {
  if (status == 0) tell_foreign_end();
}

}  // namespace

void refuse_foreign_end() {
  refusing() = ::getpid();
  ::on_exit(tell_foreign_success, nullptr);
  std::at_quick_exit(tell_foreign_end);  // is not told the status
}

void run_left_behind(std::function<void()> work) {
  ++left_behind();
  try {
    std::thread([work = std::move(work)]() mutable {
      work();
      work = nullptr;  // what it owns ends before the thread counts as ended
      --left_behind();
    }).detach();
  } catch (const std::system_error& e) {
    --left_behind();
    throw Error(said("thread.not_started", e.code().message()));
  }
}

int threads_left_behind() { return left_behind(); }

int end_of_process(int exit_code, double patience_seconds) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_seconds);
  while (threads_left_behind() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ended_by_main() = true;
  if (threads_left_behind() == 0 && !library_trial::has_begun()) return exit_code;
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::_exit(exit_code);
}

}  // namespace cb
