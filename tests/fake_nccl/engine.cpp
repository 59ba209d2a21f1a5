// How the stand-in moves bytes: chunks through mailboxes in shared memory, by one thread a
// communicator, which looks at all peers in turn so that sends and receives go on together.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>

#include "fake_nccl.h"

namespace fake {
namespace {

std::vector<std::string> words() {
  const char* given = std::getenv("FAKE_NCCL");
  std::istringstream in(given == nullptr ? "" : given);
  std::vector<std::string> out;
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

// Many ranks that keep a pace leave the processor to each other.
void pause_briefly() {
  static const long told = setting("pause", -1);
  const long microseconds = told > 0 ? 1000 * told : is_paced() ? 200 : 20;
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Whether it is time for the next chunk. One that comes late is made up for, up to ten.
bool may_send(Comm& c, size_t bytes) {
  if (c.bytes_per_second <= 0) return true;
  const double now = steady_seconds();
  if (now < c.next_send) return false;
  const double takes = static_cast<double>(bytes) / c.bytes_per_second;
  c.next_send = std::max(c.next_send, now - c.made_up_for * takes) + takes;
  return true;
}

// The rate behind with:NAME=VALUE: if the variable has that value; else 0.
double rate_by_variable() {
  for (const std::string& word : words()) {
    if (word.rfind("with:", 0) != 0) continue;
    const size_t equals = word.find('='), colon = word.rfind(':');
    if (equals == std::string::npos || colon < equals) continue;
    const char* value = std::getenv(word.substr(5, equals - 5).c_str());
    if (value != nullptr && word.substr(equals + 1, colon - equals - 1) == value)
      return 1e6 * std::atof(word.substr(colon + 1).c_str());
  }
  return 0;
}

double rate_of(int rank, int max_ctas) {
  constexpr int kCtas = 32;
  if (const long each = setting("cta_rate", -1); each > 0)
    return 1e6 * static_cast<double>(each * (max_ctas > 0 ? max_ctas : kCtas));
  const long slow = setting("slow", rank);
  if (const double rate = rate_by_variable(); rate > 0 && slow <= 0) return rate;
  return 1e6 * static_cast<double>(std::max(0L, slow > 0 ? slow : setting("rate", -1)));
}

bool push(Comm& c, int to, std::deque<Transfer>& queue) {
  Mailbox& box = c.shared->boxes[c.rank][to];
  if (queue.empty() || box.full.load(std::memory_order_acquire) != 0) return false;
  if (!may_send(c, std::min(queue.front().left, kChunk))) return false;
  Transfer& t = queue.front();
  const size_t bytes = std::min(t.left, kChunk);
  std::memcpy(box.data, t.at, bytes);
  box.bytes = static_cast<uint32_t>(bytes);
  box.full.store(1, std::memory_order_release);
  t.at += bytes;
  t.left -= bytes;
  if (t.left == 0) queue.pop_front();
  return true;
}

bool pull(Comm& c, int from, std::deque<Transfer>& queue) {
  Mailbox& box = c.shared->boxes[from][c.rank];
  if (queue.empty() || box.full.load(std::memory_order_acquire) == 0) return false;
  Transfer& t = queue.front();
  const size_t bytes = std::min<size_t>(t.left, box.bytes);
  std::memcpy(t.at, box.data, bytes);
  box.full.store(0, std::memory_order_release);
  t.at += bytes;
  t.left -= bytes;
  if (t.left == 0) queue.pop_front();
  return true;
}

// "This operation is blocking for the GPU" until the peer receives (NCCL user guide, ncclSend).
// Real buffers let a small message go at once; a program may not count on it. Only in a stream's
// order, where a call that is not over holds up those behind it.
bool taken(const Comm& c, const Work& w, int peer) {
  const bool send_alone = w.over && w.receives.empty() && w.name() == "SendRecv";
  return !send_alone || c.shared->boxes[c.rank][peer].full.load(std::memory_order_acquire) == 0;
}

void run_work(Comm& c, Work& w) {
  for (;;) {
    bool moved = false, done = true;
    for (auto& [peer, queue] : w.sends) {
      moved |= push(c, peer, queue);
      done &= queue.empty() && taken(c, w, peer);
    }
    for (auto& [peer, queue] : w.receives) {
      moved |= pull(c, peer, queue);
      done &= queue.empty();
    }
    if (done || c.stop) break;
    if (c.shared->failed != 0) {
      c.error = kRemote;
      return;
    }
    if (!moved) pause_briefly();
  }
  for (const auto& f : w.after) f();
  if (w.flips && w.received != nullptr) *w.received ^= 1;
}

// Non-blocking communicators say so later.
bool connects(const Comm& c) { return c.open && c.shared != nullptr && c.blocking; }

void announce(const Comm& c) {
  if (!connects(c)) return;
  for (const int peer : c.open->sends_to) c.shared->sends[c.rank][peer] = 1;
  for (const int peer : c.open->receives_from) c.shared->receives[c.rank][peer] = 1;
}

int await_peers(const Comm& c) {
  if (!connects(c)) return kSuccess;
  const Shared& all = *c.shared;
  const auto receives = [&](int peer) { return all.receives[peer][c.rank] != 0; };
  const auto sends = [&](int peer) { return all.sends[peer][c.rank] != 0; };
  while (!std::ranges::all_of(c.open->sends_to, receives) ||
         !std::ranges::all_of(c.open->receives_from, sends)) {
    if (c.stop) return kInternalError;
    if (all.failed != 0) return kRemote;
    pause_briefly();
  }
  return kSuccess;
}

bool join_others(Comm& c) {
  c.shared = static_cast<Shared*>(attach(c.name, false));
  if (c.shared == nullptr) return false;
  if (::gethostname(c.shared->hosts[c.rank], kHostName - 1) != 0) return false;
  if (setting("init_hang", c.rank) < 0) ++c.shared->attached;
  while (c.shared->attached < c.ranks && !c.stop) pause_briefly();
  if (c.rank == 0) ::unlink(c.name.c_str());
  return !c.stop;
}

}  // namespace

long setting(const std::string& key, int rank) {
  for (const std::string& word : words()) {
    if (word.rfind(key + "=", 0) != 0) continue;
    const std::string value = word.substr(key.size() + 1);
    const size_t colon = value.find(':');
    if (rank >= 0 && std::atoi(value.c_str()) != rank) continue;  // another word may mean it
    return std::atol(value.substr(colon == std::string::npos ? 0 : colon + 1).c_str());
  }
  return -1;
}

bool has_word(const std::string& word) {
  const auto all = words();
  return std::find(all.begin(), all.end(), word) != all.end();
}

void log_line(const std::string& line) {
  const char* name = std::getenv("FAKE_NCCL_LOG");
  if (name == nullptr) return;
  if (FILE* file = std::fopen(name, "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

void* attach(const std::string& name, bool create) {
  const int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0) return nullptr;
  if (create && ::ftruncate(file, sizeof(Shared)) != 0) return nullptr;
  void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return at == MAP_FAILED ? nullptr : at;
}

int connect(const std::vector<Comm*>& comms) {
  for (Comm* c : comms) ++c->callers;
  for (const Comm* c : comms) announce(*c);
  int result = kSuccess;
  for (const Comm* c : comms) {
    if (result == kSuccess) result = await_peers(*c);
  }
  for (Comm* c : comms) {
    if (result != kSuccess) c->open.reset();
    --c->callers;
  }
  return result;
}

void run_comm(Comm* c) {
  c->bytes_per_second = rate_of(c->rank, c->max_ctas);
  if (has_word("steady")) c->made_up_for = 0;
  if (!join_others(*c))
    c->error = kRemote;
  else if (has_word("hosts=named"))
    log_connections(c);
  --c->pending;
  while (!c->stop) {
    std::unique_ptr<Work> next;
    {
      const std::lock_guard lock(c->mutex);
      if (!c->queue.empty()) {
        next = std::move(c->queue.front());
        c->queue.pop_front();
      }
    }
    if (!next) {
      pause_briefly();
      continue;
    }
    const int call = ++c->calls;
    const auto reached = [&](const char* key) {
      const long from = setting(key, c->rank);
      return from >= 0 && call >= from;
    };
    while (reached("hang") && !c->stop) pause_briefly();
    next->flips = reached("wrong");
    if (const long late = setting("late_sends", c->rank);
        late > 0 && !next->sends.empty() && next->receives.empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(late));
    const double begun = begin_call(c);
    if (reached("error"))
      c->error = kRemote;
    else
      run_work(*c, *next);
    keep_pace(c, begun, pace_seconds(c, *next));
    if (!next->over)
      --c->pending;
    else if (c->error == 0)
      *next->over = true;
    else
      c->stuck.push_back(next->over);
  }
}

void start_ras() {
  const char* given = std::getenv("NCCL_RAS_ADDR");
  const char* colon = given == nullptr ? nullptr : std::strrchr(given, ':');
  if (colon == nullptr) return;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(colon + 1)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 4) != 0)
    return;
  std::thread([listener] {
    for (;;) {
      const int guest = ::accept(listener, nullptr, nullptr);
      if (guest < 0) return;
      char question[64] = {};
      if (::read(guest, question, sizeof question - 1) > 0 &&
          std::strstr(question, "verbose status") != nullptr) {
        const char answer[] =
            "NCCL version 2.28.9\nGroup summary\n  1 1 4\n\nErrors\n======\n\n#0-0 (0)\n"
            "  MISMATCH\n  3 ranks have launched up to operation 7\n  Rank 1 has launched up to "
            "operation 5\n";
        if (::write(guest, answer, sizeof answer - 1) < 0) std::perror("fake ras");
      }
      ::close(guest);
    }
  }).detach();
}

}  // namespace fake
