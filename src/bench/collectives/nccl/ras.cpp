#include "bench/collectives/nccl/ras.h"

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/units.h"
#include "sys/net/poll_socket.h"

namespace cb::nccl {
namespace {

constexpr uint16_t kDefaultPort = 28028;
constexpr size_t kMaxBytes = 1 << 20;

// NCCL_RAS_ADDR is "host:port". The service of this process always listens on this host.
uint16_t ras_port() {
  const char* given = std::getenv("NCCL_RAS_ADDR");
  const std::string text = given == nullptr ? "" : given;
  const auto port = parse_integer(text.substr(text.rfind(':') + 1));
  return port && *port > 0 && *port < 65536 ? static_cast<uint16_t>(*port) : kDefaultPort;
}

bool wait_writable(const Socket& socket, double end) {
  while (monotonic_seconds() < end) {
    std::vector<Watched> one{{.fd = socket.fd(), .want_write = true}};
    wait_for_any(one, 0.05);
    if (one[0].writable) return connected(socket);
  }
  return false;
}

}  // namespace

std::string ask_ras(double seconds) {
  const double end = monotonic_seconds() + seconds;
  const Socket socket = start_connect("127.0.0.1", ras_port());
  if (!socket.open() || !wait_writable(socket, end)) return "";
  if (write_some(socket, "verbose status\n") <= 0) return "";
  std::string answer;
  while (monotonic_seconds() < end && answer.size() < kMaxBytes) {
    std::vector<Watched> one{{.fd = socket.fd()}};
    wait_for_any(one, 0.05);
    if (!one[0].readable) continue;
    char some[4096];
    const long got = read_some(socket, some, sizeof some);
    if (got < 0) break;
    answer.append(some, static_cast<size_t>(got));
  }
  return ras_trouble(answer);
}

std::string ras_trouble(const std::string& answer) {
  size_t from = std::string::npos;
  for (size_t begin = 0; begin < answer.size();) {
    const size_t line_end = std::min(answer.find('\n', begin), answer.size());
    const std::string line = answer.substr(begin, line_end - begin);
    if (line == "Errors" || line == "Warnings") {
      from = begin;
      break;
    }
    begin = line_end + 1;
  }
  return from == std::string::npos ? "" : answer.substr(from);
}

}  // namespace cb::nccl
