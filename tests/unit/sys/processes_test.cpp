// Ending what a job left behind, found by the path of its document.
#include "sys/os/processes.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cb;

namespace {

bool has_argument(pid_t pid, const std::string& path) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return all.find(path) != std::string::npos;
}

pid_t start_with(const std::string& path) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execlp("sh", "sh", "-c", "sleep 120", "job", "--json", path.c_str(), nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 1000 && !has_argument(pid, path); ++i) ::usleep(20'000);
  return pid;
}

// The signal that ended it; 0 if it still runs after that time.
int signal_of(pid_t pid, double seconds) {
  int status = 0;
  for (double waited = 0; waited < seconds; waited += 0.02) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
    ::usleep(20'000);
  }
  return 0;
}

}  // namespace

TEST_CASE("only processes with exactly that option and path are killed") {
  const std::string path = "/nowhere/records/" + std::to_string(::getpid()) + ".json.1.partial";
  const pid_t mine = start_with(path), other = start_with(path + "x");
  CHECK(kill_processes_with("--json", "/nowhere/else") == 0);
  CHECK(kill_processes_with("--dir", path) == 0);
  CHECK(kill_processes_with("--json", path) == 1);
  CHECK(signal_of(mine, 20) == SIGKILL);
  CHECK(signal_of(other, 0.4) == 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}
