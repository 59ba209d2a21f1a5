// How long a call takes at least: what its bytes take at a bus bandwidth, which is told for a
// function, for communicators on one host and for those over several.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "fake_nccl.h"

namespace fake {
namespace {

// A call that comes within this time behind the last one begins where that ended: a host that is
// late for a moment makes no call longer.
constexpr double kMadeUpSeconds = 2e-3;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Bytes a second behind `KEY=FUNCTION:RATE`, where RATE is in kB/s; 0 where nothing is said.
double rate_behind(const std::string& key, const std::string& function) {
  const char* given = std::getenv("FAKE_NCCL");
  std::istringstream in(given == nullptr ? "" : given);
  const std::string begin = key + "=" + function + ":";
  for (std::string word; std::getline(in, word, ',');) {
    if (word.rfind(begin, 0) == 0) return 1e3 * std::atof(word.c_str() + begin.size());
  }
  return 0;
}

// The share of the pace between hosts that the rail of this process's place on its host has.
double rail_share() {
  const char* place = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  const long percent = place == nullptr ? -1 : setting("slow_rail", std::atoi(place));
  return percent > 0 ? static_cast<double>(percent) / 100 : 1;
}

}  // namespace

bool is_paced() {
  static const bool paced = [] {
    const char* given = std::getenv("FAKE_NCCL");
    return given != nullptr &&
           (std::strstr(given, "bus=") != nullptr || std::strstr(given, "across=") != nullptr);
  }();
  return paced;
}

bool on_one_host(const Comm* c, int a, int b) {
  return c->shared == nullptr || std::strcmp(c->shared->hosts[a], c->shared->hosts[b]) == 0;
}

bool spans_hosts(const Comm* c) {
  for (int rank = 1; rank < c->ranks; ++rank) {
    if (!on_one_host(c, 0, rank)) return true;
  }
  return false;
}

double pace_seconds(const Comm* c, const Work& work) {
  const bool across = spans_hosts(c);
  double out = 0;
  for (const auto& [function, bytes] : work.bus_bytes) {
    const double rate = rate_behind(across ? "across" : "bus", function);
    if (rate > 0) out += bytes / (across ? rate * rail_share() : rate);
  }
  return out;
}

void keep_pace(Comm* c, double begun, double seconds) {
  if (seconds <= 0) return;
  c->free_at = begun + seconds;
  for (;;) {
    const double left = c->free_at - now_seconds();
    if (left <= 0 || c->stop) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 5e-3)));
  }
}

double begin_call(const Comm* c) {
  const double now = now_seconds();
  return now - c->free_at < kMadeUpSeconds ? c->free_at : now;
}

}  // namespace fake
