// Two replicas under load, on threads of this process.
#include <doctest/doctest.h>

#include "bench/training/host_backend.h"
#include "bench/training/load_session.h"
#include "sys/cpu/affinity.h"
#include "tests/unit/bench/case_runner.h"

using namespace cb;
using namespace cb::training;

namespace {

struct UnderLoad {
  bool interrupted = false;
  uint64_t passes = 0;  // and looks at whether the other replica is ready
};

InferOptions small_replicas(int64_t repetitions) {
  InferOptions out;
  out.shape = {"small", 2, 12, 4, 2, 6, 10, 14};
  out.layout.data = 2;
  out.generation = {2, 3, 4};
  out.repetitions = repetitions;
  return out;
}

// A signal has come to this rank before its first generation.
UnderLoad load_with_signal(Comm& comm, const InferOptions& options) {
  const RankMap place = locate_ranks(comm, "n" + std::to_string(comm.rank()));
  Watchdog watchdog([](const WatchState&) {});
  CancelToken cancel;
  Sampler sampler(comm, watchdog, cancel);
  NoProgress progress;
  const FsRoot fs("/nonexistent");
  const HostInventory inventory{place.host};
  Context context{comm, place, sampler, watchdog, cancel, progress, fs, inventory};
  Team team({allowed_cpus().at(0)});
  const auto backend = host_backend<float>(team);
  const auto alone = single_comm();
  Fabric<float> fabric = connect<float>(*alone, Layout());
  Parameters<float> parameters(*backend, options.stage(comm.rank()), 7);
  const Text text({options.shape.vocabulary, options.shape.vocabulary, 0.5}, 3);
  LoadSession session(context, options, *backend, fabric, parameters, text);
  cancel.cancel();
  comm.barrier();
  UnderLoad out;
  try {
    session.run(1e6, 2);
  } catch (const Interrupted&) {
    out.interrupted = true;
  }
  out.passes = watchdog.state().iterations;
  return out;
}

}  // namespace

TEST_CASE("a signal ends the generations before a load, where several ranks make them too") {
  std::vector<UnderLoad> of_rank(2);
  ThreadGroup(2).run([&](Comm& comm) {
    of_rank[static_cast<size_t>(comm.rank())] = load_with_signal(comm, small_replicas(20000));
  });
  for (const UnderLoad& one : of_rank) {
    CHECK(one.interrupted);
    CHECK(one.passes < 10000);  // of 80000
  }
}
