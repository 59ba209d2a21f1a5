// The interface of the stand-in: see fake_nccl.h. Every collective becomes sends and receives
// between all ranks, and a reduction after them.
#include "fake_nccl.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define API extern "C" __attribute__((visibility("default")))

namespace fake {
namespace {

struct UniqueId {
  char internal[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, cga_cluster_size, min_ctas, max_ctas;
};
struct SimInfo {
  size_t size;
  unsigned magic, version;
  float estimated_microseconds;
};

thread_local int depth = 0;
thread_local std::vector<Comm*> touched;

Work& work_of(Comm* c) {
  if (!c->open) {
    c->open = std::make_unique<Work>();
    touched.push_back(c);
  }
  return *c->open;
}

// Calls that a graph holds; every launch makes work of them again.
struct Graph {
  std::vector<std::pair<Comm*, Work>> calls;
};
thread_local std::unique_ptr<Graph> captured;

void hand_over(Comm* c, std::unique_ptr<Work> work) {
  ++c->pending;
  const std::lock_guard lock(c->mutex);
  c->queue.push_back(std::move(work));
}

// As in the real library a call that blocks comes back with an error when another thread aborts.
int wait_for_all(const std::vector<Comm*>& comms) {
  int result = kSuccess;
  for (Comm* c : comms) {
    while (c->blocking && c->pending > 0 && c->error == 0 && !c->stop)
      ::usleep(is_paced() ? 500 : 50);
    if (c->stop) result = kInternalError;
    if (!c->blocking && result == kSuccess) result = kInProgress;
  }
  return result;
}

int submit() {
  const std::vector<Comm*> comms = std::exchange(touched, {});
  if (!captured) {
    if (const int no = connect(comms)) return no;
  }
  for (Comm* c : comms) {
    if (!c->open) continue;
    if (captured) {
      if (captured->calls.empty() || captured->calls.back().first != c) ++c->graphs;
      captured->calls.emplace_back(c, std::move(*std::exchange(c->open, nullptr)));
    } else if (in_stream(*c->open)) {
      queue_in_stream(c, std::exchange(c->open, nullptr));
    } else {
      hand_over(c, std::exchange(c->open, nullptr));
    }
  }
  if (captured) return kSuccess;
  for (Comm* c : comms) ++c->callers;
  const int result = wait_for_all(comms);
  for (Comm* c : comms) --c->callers;
  return result;
}

int done() { return depth == 0 ? submit() : kSuccess; }

}  // namespace

// ncclCommEnsureReady and ncclEnqueueCheck (2.30.7: init.cc:422, enqueue.cc:3141 and 3170).
int refused(Comm* c) {
  if (c->blocking || c->pending == 0) return kSuccess;
  c->error = kInvalidArgument;
  return kInvalidArgument;
}

namespace {

void send(Comm* c, const void* from, size_t bytes, int peer) {
  // The bytes are only read.
  if (bytes > 0)
    work_of(c).sends[peer].push_back({const_cast<char*>(static_cast<const char*>(from)), bytes});
}
void receive(Comm* c, void* to, size_t bytes, int peer) {
  Work& w = work_of(c);
  if (bytes > 0) w.receives[peer].push_back({static_cast<char*>(to), bytes});
  w.received = static_cast<char*>(to);
}

// Counts the bytes of a call over `bytes` in all as nccl-tests' bus bandwidth does.
void count_bus(Comm* c, const char* function, double factor, size_t bytes) {
  const double share = static_cast<double>(c->ranks - 1) / c->ranks;
  work_of(c).bus_bytes[function] += factor * share * static_cast<double>(bytes);
}

// The operation of ncclRedOpCreatePreMulSum; it adds what has been multiplied.
constexpr int kPreMulSum = 100;

// What is sent of `from`: the same, or a copy times the rank's factor that lives as long as the
// work.
const void* multiplied(Comm* c, const void* from, size_t count, int type, int op) {
  if (op != kPreMulSum) return from;
  const size_t bytes = count * width(type);
  const auto* begin = static_cast<const char*>(from);
  auto copy = std::make_shared<std::vector<char>>(begin, begin + bytes);
  for (size_t i = 0; i < count; ++i)
    combine(type, 1, copy->data() + i * width(type), c->factor.data(), 1);
  work_of(c).after.emplace_back([copy] {});
  return copy->data();
}

// Every rank's `bytes` at `from`, one behind the other in the vector once the work is done.
std::shared_ptr<std::vector<char>> gather_all(Comm* c, const void* from, size_t bytes,
                                              const std::function<const char*(int)>& to_peer) {
  auto all = std::make_shared<std::vector<char>>(bytes * static_cast<size_t>(c->ranks));
  for (int peer = 0; peer < c->ranks; ++peer) {
    send(c, to_peer ? to_peer(peer) : static_cast<const char*>(from), bytes, peer);
    receive(c, all->data() + static_cast<size_t>(peer) * bytes, bytes, peer);
  }
  return all;
}

void reduce_into(Comm* c, void* to, size_t count, int type, int op,
                 const std::shared_ptr<std::vector<char>>& all) {
  const size_t bytes = count * width(type);
  work_of(c).received = static_cast<char*>(to);
  work_of(c).after.emplace_back([=, ranks = c->ranks] {
    std::vector<char> sum(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(bytes));
    for (int r = 1; r < ranks; ++r)
      combine(type, op, sum.data(), all->data() + static_cast<size_t>(r) * bytes, count);
    if (op == 4) divide(type, sum.data(), count, ranks);
    std::memcpy(to, sum.data(), bytes);
  });
}

}  // namespace
}  // namespace fake

using fake::Comm;

API int ncclGetVersion(int* version) {
  *version = fake::version();
  return fake::kSuccess;
}

API int ncclGetUniqueId(fake::UniqueId* id) {
  static int count = 0;
  std::snprintf(id->internal, sizeof id->internal, "/dev/shm/clusterbench-fake-nccl-%d-%d",
                ::getpid(), count++);
  return fake::attach(id->internal, true) == nullptr ? 2 : fake::kSuccess;
}

static int make(Comm** out, int ranks, const fake::UniqueId& id, int rank, bool blocking,
                int max_ctas = 0) {
  if (ranks > fake::kMaxRanks) return fake::kInvalidArgument;
  if (fake::has_word("duplicate")) {
    if (rank == 0) ::unlink(id.internal);
    return fake::kInvalidUsage;
  }
  auto* c = new Comm;
  c->name = id.internal;
  c->rank = rank;
  c->ranks = ranks;
  c->blocking = blocking;
  c->max_ctas = max_ctas;
  c->pending = 1;
  fake::live(c);
  c->worker = std::thread(fake::run_comm, c);
  if (rank == 0 && fake::has_word("ras")) fake::start_ras();
  *out = c;
  if (!fake::has_word("hosts=named")) fake::log_connections(c);
  fake::touched.push_back(c);
  return fake::done();
}

API int ncclCommInitRank(Comm** out, int ranks, fake::UniqueId id, int rank) {
  return make(out, ranks, id, rank, true);
}
static int reclaim(Comm* c) {
  c->stop = true;
  c->worker.join();
  fake::die(c);
  while (c->callers > 0) ::usleep(50);
  delete c;
  return fake::kSuccess;
}
// commDestroySync (2.30.7 init.cc:2750) polls "until all graphs referencing us die", for ever; here
// it gives up after a while and says so.
API int ncclCommDestroy(Comm* c) {
  while (fake::setting("destroy_hang", c->rank) >= 0) ::sleep(1);
  for (int i = 0; c->graphs > 0 && i < 2000; ++i) ::usleep(1000);
  if (c->graphs > 0) fake::log_line("destroy waits for a graph of rank " + std::to_string(c->rank));
  return c->graphs > 0 ? fake::kInternalError : reclaim(c);
}
API int ncclCommAbort(Comm* c) {
  if (c->shared != nullptr && !fake::has_word("abort=local")) c->shared->failed = 1;
  fake::log_line("abort rank " + std::to_string(c->rank));
  return reclaim(c);
}
API int ncclCommGetAsyncError(Comm* c, int* error) {
  // In this order: an error comes before the work that it spoils is taken off.
  const bool pending = c->pending > 0;
  const int failed = c->error;
  *error = failed != 0 ? failed : pending ? fake::kInProgress : fake::kSuccess;
  return fake::kSuccess;
}
API const char* ncclGetErrorString(int result) {
  return result == fake::kRemote         ? "remote process exited or there was a network error"
         : result == fake::kInvalidUsage ? "invalid usage"
                                         : "some error";
}
// What a stream's capture is for the real library: the calls between the two are kept and not run.
API void fake_capture_begin() { fake::captured = std::make_unique<fake::Graph>(); }
API void* fake_capture_end() { return fake::captured.release(); }
API int fake_graph_launch(void* graph) {
  for (const auto& [c, work] : static_cast<fake::Graph*>(graph)->calls) {
    fake::hand_over(c, std::make_unique<fake::Work>(work));
  }
  return fake::kSuccess;
}
API void fake_graph_destroy(void* handle) {
  auto* graph = static_cast<fake::Graph*>(handle);
  const Comm* last = nullptr;
  for (const auto& call : graph->calls) {
    if (std::exchange(last, call.first) != call.first) --call.first->graphs;
  }
  delete graph;
}
API int ncclGroupStart() {
  ++fake::depth;
  return fake::kSuccess;
}
#ifndef CB_FAKE_OLD
// group.cc of 2.22 to 2.30: with communicators that do not block a thread launches the group as
// ncclGroupEnd does, and no estimate comes back.
API int ncclGroupSimulateEnd(fake::SimInfo* info) {
  if (info->magic != 0x74685283) return fake::kInvalidArgument;
  if (--fake::depth > 0) return fake::kSuccess;
  for (const Comm* c : fake::touched) {
    if (!c->blocking) return fake::submit();
  }
  for (Comm* c : fake::touched) c->open.reset();
  fake::touched.clear();
  info->estimated_microseconds = 10;
  return fake::kSuccess;
}
#endif
API int ncclGroupEnd() { return --fake::depth == 0 ? fake::submit() : fake::kSuccess; }

API int ncclSend(const void* from, size_t count, int type, int peer, Comm* c, void* stream) {
  if (const int no = fake::refused(c)) return no;
  fake::work_of(c).stream = stream;
  fake::send(c, from, count * fake::width(type), peer);
  fake::work_of(c).sends_to.insert(peer);
  if (peer != c->rank)
    fake::work_of(c).bus_bytes["SendRecv"] += static_cast<double>(count * fake::width(type));
  return fake::done();
}
API int ncclRecv(void* to, size_t count, int type, int peer, Comm* c, void* stream) {
  if (const int no = fake::refused(c)) return no;
  fake::work_of(c).stream = stream;
  fake::work_of(c).receives_from.insert(peer);
  fake::receive(c, to, count * fake::width(type), peer);
  return fake::done();
}
API int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, Comm* c,
                      void* stream) {
  if (const int no = fake::refused(c)) return no;
  fake::work_of(c).stream = stream;
  fake::log_choice(c, "AllReduce", count * fake::width(type));
  fake::count_bus(c, "AllReduce", 2, count * fake::width(type));
  from = fake::multiplied(c, from, count, type, op);
  fake::reduce_into(c, to, count, type, op,
                    fake::gather_all(c, from, count * fake::width(type), {}));
  return fake::done();
}
API int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, Comm* c,
                          void* stream) {
  if (const int no = fake::refused(c)) return no;
  fake::work_of(c).stream = stream;
  const size_t bytes = count * fake::width(type);
  from = fake::multiplied(c, from, count * static_cast<size_t>(c->ranks), type, op);
  const auto* begin = static_cast<const char*>(from);
  fake::log_choice(c, "ReduceScatter", bytes * static_cast<size_t>(c->ranks));
  fake::count_bus(c, "ReduceScatter", 1, bytes * static_cast<size_t>(c->ranks));
  fake::reduce_into(c, to, count, type, op, fake::gather_all(c, from, bytes, [=](int peer) {
                      return begin + static_cast<size_t>(peer) * bytes;
                    }));
  return fake::done();
}
API int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, Comm* c,
                   void*) {
  if (const int no = fake::refused(c)) return no;
  const size_t bytes = count * fake::width(type);
  fake::log_choice(c, "Reduce", bytes);
  from = fake::multiplied(c, from, count, type, op);
  fake::send(c, from, bytes, root);
  if (c->rank == root) {
    auto all = std::make_shared<std::vector<char>>(bytes * static_cast<size_t>(c->ranks));
    for (int r = 0; r < c->ranks; ++r)
      fake::receive(c, all->data() + static_cast<size_t>(r) * bytes, bytes, r);
    fake::reduce_into(c, to, count, type, op, all);
  }
  return fake::done();
}
API int ncclAllGather(const void* from, void* to, size_t count, int type, Comm* c, void* stream) {
  if (const int no = fake::refused(c)) return no;
  fake::work_of(c).stream = stream;
  const size_t bytes = count * fake::width(type);
  fake::log_choice(c, "AllGather", bytes * static_cast<size_t>(c->ranks));
  fake::count_bus(c, "AllGather", 1, bytes * static_cast<size_t>(c->ranks));
  for (int r = 0; r < c->ranks; ++r) {
    fake::send(c, from, bytes, r);
    fake::receive(c, static_cast<char*>(to) + static_cast<size_t>(r) * bytes, bytes, r);
  }
  return fake::done();
}
API int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Comm* c,
                      void*) {
  if (const int no = fake::refused(c)) return no;
  const size_t bytes = count * fake::width(type);
  fake::log_choice(c, "Broadcast", bytes);
  for (int r = 0; r < c->ranks && c->rank == root; ++r) fake::send(c, from, bytes, r);
  fake::receive(c, to, bytes, root);
  return fake::done();
}

#ifndef CB_FAKE_OLD
API int ncclCommInitRankConfig(Comm** out, int ranks, fake::UniqueId id, int rank,
                               fake::Config* config) {
  if (config->magic != 0xcafebeef) return fake::kInvalidArgument;
  // parseCommConfig (init.cc since 2.17): what was not set is INT_MIN, and is compared as well.
  if (config->min_ctas > config->max_ctas) return fake::kInvalidArgument;
  return make(out, ranks, id, rank, config->blocking != 0, config->max_ctas);
}
API int ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, Comm* c) {
  if (residence != 1) return fake::kInvalidArgument;
  const auto* at = static_cast<const char*>(scalar);
  c->factor.assign(at, at + fake::width(type));
  *op = fake::kPreMulSum;
  return fake::kSuccess;
}
API int ncclRedOpDestroy(int op, Comm*) {
  return op == fake::kPreMulSum ? fake::kSuccess : fake::kInvalidArgument;
}
API const char* ncclGetLastError(Comm*) { return "the stand-in was told to fail"; }
API int ncclMemAlloc(void** out, size_t bytes) {
  return ::posix_memalign(out, 4096, bytes) == 0 ? fake::kSuccess : 2;
}
API int ncclMemFree(void* at) {
  std::free(at);
  return fake::kSuccess;
}
API int ncclCommRegister(Comm* c, void*, size_t, void** handle) {
  fake::log_line("register rank " + std::to_string(c->rank));
  // register.cc: success without a handle where NCCL_LOCAL_REGISTER is 0.
  const char* local = std::getenv("NCCL_LOCAL_REGISTER");
  const bool off = local != nullptr && std::strcmp(local, "0") == 0;
  *handle = off || fake::has_word("no_register") ? nullptr : c;
  return fake::kSuccess;
}
API int ncclCommDeregister(Comm* c, void*) {
  fake::log_line("deregister rank " + std::to_string(c->rank));
  return fake::kSuccess;
}
#endif
