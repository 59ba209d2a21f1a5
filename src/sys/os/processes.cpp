#include "sys/os/processes.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

namespace cb {
namespace {

std::vector<std::string> arguments_of(const std::filesystem::path& process) {
  std::ifstream in(process / "cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string argument; std::getline(in, argument, '\0');) out.push_back(argument);
  return out;
}

bool has(const std::vector<std::string>& arguments, const std::string& name,
         const std::string& value) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == name && arguments[i + 1] == value) return true;
  }
  return false;
}

}  // namespace

int kill_processes_with(const std::string& name, const std::string& value) {
  int killed = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string number = entry.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::strtol(number.c_str(), nullptr, 10));
    if (pid == ::getpid() || pid <= 1 || !has(arguments_of(entry.path()), name, value)) continue;
    killed += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
  }
  return killed;
}

}  // namespace cb
