#include "cli/stop_signals.h"

#include <csignal>

namespace cb {
namespace {

// Signal handlers can reach only a global.
volatile std::sig_atomic_t g_stop_signals = 0;

void on_stop_signal(int) { g_stop_signals = g_stop_signals + 1; }

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int stop_signals() { return static_cast<int>(g_stop_signals); }

}  // namespace cb
