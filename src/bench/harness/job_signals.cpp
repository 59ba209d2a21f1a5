#include "bench/harness/job_signals.h"

#include <atomic>
#include <csignal>
#include <ctime>

namespace cb {
namespace {

// Signal handlers can reach only these.
CancelToken* g_cancel = nullptr;
std::atomic<int64_t> g_first_interrupt{0}, g_first_end{0};  // nanoseconds; 0: not yet

int64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// A terminal and a launcher may both pass the same key press on, so a repeat within a second means
// nothing new. A later one ends the process at once.
void on_signal(int signal) {
  constexpr int64_t kSameKeyPress = 1000000000;
  std::atomic<int64_t>& first = signal == SIGINT ? g_first_interrupt : g_first_end;
  int64_t before = 0;
  const int64_t now = monotonic_now();
  if (first.compare_exchange_strong(before, now)) {
    if (g_cancel != nullptr) g_cancel->cancel();
  } else if (now - before >= kSameKeyPress) {
    std::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}

}  // namespace

CancelOnSignal::CancelOnSignal(CancelToken& token) {
  g_cancel = &token;
  g_first_interrupt = g_first_end = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

CancelOnSignal::~CancelOnSignal() { g_cancel = nullptr; }

}  // namespace cb
