#include "bench/harness/job_signals.h"

#include <csignal>

namespace cb {
namespace {

// Signal handlers can reach only this.
CancelToken* g_cancel = nullptr;

void on_signal(int) {
  if (g_cancel != nullptr) g_cancel->cancel();
}

}  // namespace

CancelOnSignal::CancelOnSignal(CancelToken& token) {
  g_cancel = &token;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

CancelOnSignal::~CancelOnSignal() { g_cancel = nullptr; }

}  // namespace cb
