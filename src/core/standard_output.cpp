#include "core/standard_output.h"

#include <atomic>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace cb {
namespace {

std::atomic<int> g_output{STDOUT_FILENO};

}  // namespace

int document_output() { return g_output; }

DocumentOutput::DocumentOutput()
    : before_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (before_.get() < 0) return;
  std::fflush(stdout);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  g_output = before_.get();
}

DocumentOutput::~DocumentOutput() {
  if (before_.get() < 0) return;
  std::fflush(stdout);  // what a library printed and the C library still holds
  ::dup2(before_.get(), STDOUT_FILENO);
  g_output = STDOUT_FILENO;
}

}  // namespace cb
