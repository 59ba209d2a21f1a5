#include "cli/drill/agent.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "sys/inventory/inventory.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFill = uint64_t{64} << 30;  // bytes: larger file systems are not filled
constexpr double kCommandSeconds = 20;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string program_of(const std::string& process) {
  std::error_code failed;
  return fs::read_symlink("/proc/" + process + "/exe", failed).string();
}

std::string network_of(const std::string& process) {
  std::error_code failed;
  return fs::read_symlink("/proc/" + process + "/ns/net", failed).string();
}

// Field 22 of /proc/PID/stat: with the number it names a process for good. 0: there is none.
uint64_t start_of_process(const std::string& process) {
  const std::string stat = text_of("/proc/" + process + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 19; ++i) fields >> skipped;
  uint64_t out = 0;
  fields >> out;
  return out;
}

// The processes of the measurement on this host: they carry the token, and see the same network.
std::vector<std::string> marked_processes(const std::string& token) {
  std::vector<std::string> out;
  const std::string wanted = fmt::format("{}={}", kDrillVariable, token);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string process = entry.path().filename().string();
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    if (program_of(process) != program_of("self")) continue;
    std::istringstream variables(text_of("/proc/" + process + "/environ"));
    bool marked = false;
    for (std::string one; std::getline(variables, one, '\0');) marked = marked || one == wanted;
    if (marked && network_of(process) == network_of("self")) out.push_back(process);
  }
  return out;
}

pid_t number_of(const std::string& process) {
  pid_t out = 0;
  std::from_chars(process.data(), process.data() + process.size(), out);
  return out;
}

void send(const std::string& process, int signal) {
  if (::kill(number_of(process), signal) != 0)
    throw Error(fmt::format("{}: cannot signal process {}: {}", host_name(), process,
                            std::strerror(errno)));
}

std::vector<std::string> victims_of(const AgentOrder& order) {
  const auto found = marked_processes(order.token);
  if (found.empty())
    throw Error(
        fmt::format("{}: no rank of the drill's measurement runs here: name a host of the "
                    "measurement with --on",
                    host_name()));
  return found;
}

// Runs a program with a deadline; throws with what it wrote.
void run_tool(const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::alarm(static_cast<unsigned>(kCommandSeconds));
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + word;
  throw Error(fmt::format("{}: {} failed: {}; next: run it by hand as root", host_name(), command,
                          said.empty() ? "it cannot be started (Debian: iproute2)" : said));
}

// Sets an interface up or down, as `ip link set` does.
void set_interface(const std::string& name, bool up) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  const bool known = fd >= 0 && ::ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  if (up)
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  else
    request.ifr_flags = static_cast<short>(request.ifr_flags & ~IFF_UP);
  const bool set = known && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  const int failed = errno;
  if (fd >= 0) ::close(fd);
  if (!set)
    throw Error(fmt::format("{}: cannot set {} {}: {}; next: ip link set {} {}", host_name(), name,
                            up ? "up" : "down", std::strerror(failed), name, up ? "up" : "down"));
}

// The list may be wrong; no file goes that a drill of this user cannot have made.
void remove_own_file(const std::string& file) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0 && errno == ENOENT) return;
  const bool is_own = fs::path(file).filename().string().starts_with(kDrillFile) &&
                      S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  if (!is_own)
    throw Error(fmt::format("{}: {} is no file of a drill: it was not removed", host_name(), file));
  if (::unlink(file.c_str()) != 0)
    throw Error(fmt::format("{}: cannot remove {}: {}", host_name(), file, std::strerror(errno)));
}

void undo_one(const Undo& u) {
  if (u.action == "continue") {
    // Nobody else is woken if the number was given to another process.
    if (start_of_process(u.part) == u.start) send(u.part, SIGCONT);
  } else if (u.action == "remove-limit") {
    run_tool({"tc", "qdisc", "del", "dev", u.part, "root"});
  } else if (u.action == "set-up") {
    set_interface(u.part, true);
  } else if (u.action == "remove-file") {
    remove_own_file(u.part);
  } else {
    throw Error(fmt::format("{}: does not know how to undo {}", host_name(), u.action));
  }
}

// Waits in a process of its own, which no end of the launcher takes along, then undoes the cut.
void undo_later(const UndoList& list, double seconds) {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (const int fd : {0, 1, 2}) {
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, fd);
    if (null > 2) ::close(null);
  }
  for (int fd = 3; fd < 256; ++fd) ::close(fd);  // the launcher waits until its pipes are closed
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  try {
    undo_here(list);
  } catch (const std::exception&) {
    ::_exit(1);  // it stays on the list: drill restore says why it cannot be undone
  }
  ::_exit(0);
}

// An interface that is not up cannot be cut, and nobody wants it set up afterwards.
void refuse_interface_that_is_down(const std::string& name) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  const bool known = fd >= 0 && ::ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  const int failed = errno;
  if (fd >= 0) ::close(fd);
  if (!known || (request.ifr_flags & IFF_UP) == 0)
    throw Error(fmt::format("{}: cannot cut {}: {}; next: name an interface of ip link with --part",
                            host_name(), name, known ? "it is not up" : std::strerror(failed)));
}

void cut_link(const AgentOrder& order, const std::string& id) {
  refuse_interface_that_is_down(order.part);
  const Undo undo{id, host_name(), "set-up", order.part};
  order.list.note(undo);
  undo_later(order.list, order.hold_seconds);
  try {
    set_interface(order.part, false);
  } catch (const Error&) {
    order.list.done(undo);  // nothing was changed
    throw;
  }
}

void refuse_own_limit(const std::string& interface) {
  // A limit that was there before would be gone afterwards.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::alarm(static_cast<unsigned>(kCommandSeconds));
    ::execlp("tc", "tc", "qdisc", "show", "dev", interface.c_str(), "root", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  const auto has = [&](const char* word) { return said.find(word) != std::string::npos; };
  if (!said.empty() && !has("noqueue") && !has("mq ") && !has("fq_codel") && !has("pfifo_fast"))
    throw Error(
        fmt::format("{}: {} has a queueing discipline of its own ({}): it would be lost; "
                    "remove it first, or drill another interface",
                    host_name(), interface, said.substr(0, said.find('\n'))));
}

void slow_down(const AgentOrder& order, const std::string& id) {
  refuse_own_limit(order.part);
  const Undo undo{id, host_name(), "remove-limit", order.part};
  order.list.note(undo);
  try {
    run_tool({"tc", "qdisc", "replace", "dev", order.part, "root", "tbf", "rate", order.rate,
              "burst", "32kb", "latency", "50ms"});
  } catch (const Error&) {
    order.list.done(undo);  // nothing was changed
    throw;
  }
}

// Fills the file system until nothing more fits.
void fill_up(const AgentOrder& order, const std::string& id) {
  struct statvfs info {};
  if (::statvfs(order.part.c_str(), &info) != 0)
    throw Error(fmt::format("{}: {}: {}", host_name(), order.part, std::strerror(errno)));
  const uint64_t size = uint64_t{info.f_blocks} * info.f_frsize;
  std::error_code failed;
  const bool own = fs::exists(order.part + "/..", failed) &&
                   text_of("/proc/self/mounts").find(" " + order.part + " ") != std::string::npos;
  if (size > kMaxFill || !own)
    throw Error(
        fmt::format("{}: {} is not a mounted file system of at most 64 GiB: mount a small "
                    "one there (mount -t tmpfs -o size=64M), which nothing else uses",
                    host_name(), order.part));
  const Undo undo{id, host_name(), "remove-file",
                  fmt::format("{}/{}{}", order.part, kDrillFile, id)};
  order.list.note(undo);
  const int fd = ::open(undo.part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    throw Error(
        fmt::format("{}: cannot make {}: {}", host_name(), undo.part, std::strerror(errno)));
  static constexpr size_t kPiece = size_t{1} << 20;
  const std::string piece(kPiece, 'd');
  for (size_t bytes = kPiece; bytes > 0;) {
    if (const ssize_t n = ::write(fd, piece.data(), bytes); n <= 0) bytes /= 2;
  }
  ::fsync(fd);
  ::close(fd);
}

// The stand-in of NVML in the measurement reads this file.
void report_xid(const AgentOrder& order, const std::string& id) {
  const Undo undo{id, host_name(), "remove-file", order.part};
  const auto refuse = [&](const char* why) {
    throw Error(
        fmt::format("{}: cannot make {}: {}; next: name a file that is not there, which "
                    "xid_file of CLUSTERBENCH_FAKE_NVML names too",
                    host_name(), order.part, why));
  };
  if (!fs::path(order.part).filename().string().starts_with(kDrillFile))
    refuse("its name does not begin with clusterbench-drill-");
  if (std::error_code failed; fs::exists(order.part, failed)) refuse("it is there");
  order.list.note(undo);
  const int fd = ::open(order.part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  static constexpr std::string_view kReport = "0 79\n";
  const bool written =
      fd >= 0 && ::write(fd, kReport.data(), kReport.size()) == ssize_t{kReport.size()};
  const int failed = errno;
  if (fd >= 0) ::close(fd);
  if (fd < 0) order.list.done(undo);  // nothing was made
  if (!written) refuse(std::strerror(failed));
}

}  // namespace

void inject(const AgentOrder& order) {
  const std::string id = order.token;
  switch (order.action) {
    case DrillAction::stop:
      for (const std::string& process : victims_of(order)) {
        order.list.note(
            {id + "." + process, host_name(), "continue", process, start_of_process(process)});
        send(process, SIGSTOP);
      }
      return;
    case DrillAction::kill:
      for (const std::string& process : victims_of(order)) send(process, SIGKILL);
      return;
    case DrillAction::slow:
      return slow_down(order, id);
    case DrillAction::cut:
      return cut_link(order, id);
    case DrillAction::fill:
      return fill_up(order, id);
    case DrillAction::xid:
      return report_xid(order, id);
    case DrillAction::manual:
      return;
  }
}

void undo_here(const UndoList& list) {
  std::string problems;
  for (const Undo& u : list.open()) {
    if (u.host != host_name()) continue;
    try {
      undo_one(u);
      list.done(u);
    } catch (const std::exception& e) {
      problems += (problems.empty() ? "" : "\n") + std::string(e.what());
    }
  }
  if (!problems.empty()) throw Error(problems);
}

}  // namespace cb
