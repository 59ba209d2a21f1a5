// Calls in the order of a stream of the stand-in CUDA, which asks for each when its turn has come:
// it begins then, and the stream goes on when it is over. One that failed stays on the device until
// the abort.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "fake_nccl.h"

namespace fake {
namespace {

using Foreign = int(void* stream, int (*over)(void*), void* what);
using Computed = int(void* stream);
using Capture = int(void* stream, void (*launch)(void*), void (*drop)(void*), void* what);

template <typename F>
F* of_runtime(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_DEFAULT, name));
}

std::mutex lives;
std::vector<Comm*> alive;

// One call that waits in a stream.
struct Turn {
  Comm* comm;
  std::unique_ptr<Work> work;  // until it begins
  std::string name;
  void* stream;
  int rank;
  std::shared_ptr<std::atomic<bool>> over = std::make_shared<std::atomic<bool>>(false);
};

void note(const Turn& turn, const char* what) {
  Computed* const computed = of_runtime<Computed>("fake_cuda_computed");
  log_line(std::string(what) + " " + turn.name + " rank " + std::to_string(turn.rank) +
           " computed " + std::to_string(computed(turn.stream)));
}

void begin(Turn& turn) {
  const std::lock_guard lock(lives);
  std::unique_ptr<Work> work = std::move(turn.work);
  if (std::ranges::find(alive, turn.comm) == alive.end()) {
    *turn.over = true;
    return;
  }
  note(turn, "begin");
  const std::lock_guard queue(turn.comm->mutex);
  turn.comm->queue.push_back(std::move(work));
}

int is_over(void* what) {
  auto* turn = static_cast<Turn*>(what);
  if (turn->work) begin(*turn);
  if (!*turn->over) return 0;
  note(*turn, "end");
  delete turn;
  return 1;
}

// A call that a graph of the runtime holds; every launch makes work of it again. The communicator
// knows of the graph, as the real one does.
struct Recorded {
  Comm* comm;
  Work work;
};

void launch_recorded(void* what) {
  const auto* recorded = static_cast<Recorded*>(what);
  queue_in_stream(recorded->comm, std::make_unique<Work>(recorded->work));
}

void drop_recorded(void* what) {
  auto* recorded = static_cast<Recorded*>(what);
  const std::lock_guard lock(lives);
  if (std::ranges::find(alive, recorded->comm) != alive.end()) --recorded->comm->graphs;
  delete recorded;
}

bool is_recorded(Comm* c, const Work& work) {
  auto recorded = std::make_unique<Recorded>(Recorded{c, work});
  Capture* const capture = of_runtime<Capture>("fake_cuda_capture");
  if (capture(work.stream, launch_recorded, drop_recorded, recorded.get()) == 0) return false;
  static_cast<void>(recorded.release());
  ++c->graphs;
  return true;
}

}  // namespace

bool in_stream(const Work& work) { return work.stream != nullptr && has_word("streams"); }

void queue_in_stream(Comm* c, std::unique_ptr<Work> work) {
  if (is_recorded(c, *work)) return;
  auto* turn = new Turn{c, nullptr, work->name(), work->stream, c->rank};
  work->over = turn->over;
  turn->work = std::move(work);
  if (of_runtime<Foreign>("fake_cuda_foreign")(turn->stream, is_over, turn) != 0) {
    c->error = kInternalError;
    delete turn;
  }
}

void live(Comm* c) {
  const char* nvls = std::getenv("NCCL_NVLS_ENABLE");
  log_line(std::string("nvls ") + (nvls == nullptr ? "unset" : nvls));
  const std::lock_guard lock(lives);
  alive.push_back(c);
}

void die(Comm* c) {
  const std::lock_guard lock(lives);
  std::erase(alive, c);
  for (const auto& over : c->stuck) *over = true;
  for (const auto& work : c->queue) {
    if (work->over) *work->over = true;
  }
}

}  // namespace fake
