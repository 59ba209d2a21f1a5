#include "campaign/paced_input.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"

namespace cb {
namespace {

constexpr int kQuietMilliseconds = 100;  // of the output of a command that has ended
constexpr double kLastSeconds = 2;       // that it is read after the command has ended
constexpr size_t kMaxLine = 4096;

void make_pipe(int& reading, int& writing) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  reading = ends[0];
  writing = ends[1];
}

void close_end(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::filesystem::path path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// A command that has gone is no reason to end: writing fails then, in this thread alone.
void ignore_broken_pipes() {
  sigset_t broken;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
}

// False if the pipe is full or nobody reads it.
bool write_at_once(int fd, const std::string& data) {
  ssize_t n = 0;
  do n = ::write(fd, data.data(), data.size());
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(data.size());
}

}  // namespace

PacedInput::PacedInput(const std::filesystem::path& input, const std::filesystem::path& log,
                       size_t piece)
    : input_(input, std::ios::binary),
      log_(log, std::ios::binary | std::ios::app),
      piece_(std::min(piece, kMaxPiece)) {
  if (!input_) throw Error(fmt::format("cannot read {}", input.string()));
  if (!log_) throw Error(fmt::format("cannot write {}", log.string()));
  make_pipe(in_read_, in_write_);
  try {
    make_pipe(out_read_, out_write_);
  } catch (const Error&) {
    close_end(in_read_);
    close_end(in_write_);
    throw;
  }
  ::fcntl(in_write_, F_SETFL, O_NONBLOCK);
}

PacedInput::~PacedInput() {
  close_end(in_read_);
  close_end(out_write_);
  ended_ = true;
  if (server_.joinable()) server_.join();
  close_end(in_write_);
  close_end(out_read_);
}

std::filesystem::path PacedInput::in() const { return path_of(in_read_); }

std::filesystem::path PacedInput::out() const { return path_of(out_write_); }

void PacedInput::start() {
  close_end(in_read_);
  close_end(out_write_);
  server_ = std::thread([this] { serve(); });
}

void PacedInput::serve() {
  ignore_broken_pipes();
  std::string text(kMaxLine, '\0'), line;
  double until = std::numeric_limits<double>::infinity();
  while (monotonic_seconds() < until) {
    if (ended_) until = std::min(until, monotonic_seconds() + kLastSeconds);
    pollfd output{out_read_, POLLIN, 0};
    const int ready = ::poll(&output, 1, kQuietMilliseconds);
    if (ready == 0 && ended_) break;
    if (ready <= 0) continue;
    const ssize_t n = ::read(out_read_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    for (const char c : std::string_view(text).substr(0, static_cast<size_t>(n))) {
      line += c;
      if (c != '\n' && line.size() < kMaxLine) continue;
      take(line);
      line.clear();
    }
  }
  log_ << line;
  log_.flush();
}

void PacedInput::take(const std::string& line) {
  std::string_view words = line;
  while (!words.empty() && (words.back() == '\n' || words.back() == '\r')) words.remove_suffix(1);
  if (words.ends_with(kAsksForPiece)) return send_piece();
  log_ << line;
  log_.flush();
}

void PacedInput::send_piece() {
  if (in_write_ < 0) return;
  std::string piece(piece_, '\0');
  input_.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  piece.resize(static_cast<size_t>(input_.gcount()));
  if (piece.empty() || !write_at_once(in_write_, piece)) close_end(in_write_);
}

}  // namespace cb
