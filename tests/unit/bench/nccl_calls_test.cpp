// Calls and communicators against the stand-in of NCCL in host memory, and the stand-in's own
// manners against NCCL's source (2.30.7; file and line at each).
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include "bench/collectives/nccl/call.h"
#include "bench/collectives/nccl/call_guard.h"
#include "core/clock.h"
#include "core/file.h"
#include "sys/os/dl.h"
#include "tests/unit/bench/case_runner.h"

using namespace cb;
using namespace cb::nccl;

namespace {

Library stand_in() {
  const char* build = std::getenv("CLUSTERBENCH_BUILD_DIR");
  REQUIRE(build != nullptr);
  ::setenv("CLUSTERBENCH_NCCL_LIBRARY", (std::string(build) + "/fake/fake_nccl.so").c_str(), 1);
  auto opened = Library::open();
  REQUIRE(std::holds_alternative<Library>(opened));
  return std::get<Library>(std::move(opened));
}

// A communicator of one rank and a word that it can reduce.
struct Alone {
  Library library = stand_in();
  abi::Comm comm = nullptr;
  double in = 1, out = 0;

  explicit Alone(bool blocking) {
    abi::UniqueId id;
    REQUIRE(library.call().get_unique_id(&id) == abi::kSuccess);
    abi::Config config;
    config.blocking = blocking ? 1 : 0;
    library.call().comm_init_rank_config(&comm, 1, id, 0, &config);
    while (state() == abi::kInProgress) std::this_thread::yield();
  }
  ~Alone() { library.call().comm_abort(comm); }

  abi::Result state() const {
    abi::Result now = abi::kSuccess;
    library.call().comm_get_async_error(comm, &now);
    return now;
  }
  abi::Result reduce() {
    return library.call().all_reduce(&in, &out, 1, abi::kFloat64, abi::kSum, comm, nullptr);
  }
};

// Runs `f` with a context of one rank. What it throws fails the test.
void with_context(const std::function<void(Context&)>& f) {
  const Run run = run_on(1, case_of([&](Context& context, const Params&) {
                           f(context);
                           return std::vector<Record>{good(context)};
                         }));
  REQUIRE(run.records.size() == 1);
  CHECK(std::holds_alternative<Measured>(run.records[0].outcome));
}

// Host memory whose graphs are the stand-in's.
class GraphDevice final : public Device {
 public:
  explicit GraphDevice(const std::string& path)
      : library_(::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)), inner_(host_devices(1)) {}
  ~GraphDevice() override {
    drop_graph();
    ::dlclose(library_);
  }
  std::string name() const override { return "host memory with graphs"; }
  std::string identity() const override { return ""; }
  std::string product() const override { return ""; }
  uint64_t memory_bytes() const override { return 0; }
  uint64_t free_bytes() override { return UINT64_MAX; }
  void select() override {}
  abi::Stream stream() override { return nullptr; }
  std::unique_ptr<DeviceBuffer> buffer(uint64_t bytes, const Library* library) override {
    return inner_[0]->buffer(bytes, library);
  }
  void mark() override {}
  bool idle() override { return true; }
  void begin_graph() override { function<void()>("fake_capture_begin")(); }
  void end_graph() override { graph_ = function<void*()>("fake_capture_end")(); }
  void launch_graph() override {
    ++launched;
    function<int(void*)>("fake_graph_launch")(graph_);
  }
  void drop_graph() override {
    if (graph_ != nullptr) function<void(void*)>("fake_graph_destroy")(graph_);
    graph_ = nullptr;
  }
  int launched = 0;

 private:
  template <typename F>
  F* function(const char* name) {
    return reinterpret_cast<F*>(::dlsym(library_, name));
  }
  void* library_;
  Devices inner_;
  void* graph_ = nullptr;
};

}  // namespace

TEST_CASE("an iteration has the calls that fill 20 ms, five to twenty") {
  CHECK(calls_of_iteration(0) == 20);
  CHECK(calls_of_iteration(10e-6) == 20);
  CHECK(calls_of_iteration(0.3e-3) == 20);  // 64 MiB on 8 GPUs with NVLink: one call until now
  CHECK(calls_of_iteration(1.5e-3) == 14);
  CHECK(calls_of_iteration(4e-3) == 5);  // 1 GiB
  CHECK(calls_of_iteration(35e-3) == 5);
}

TEST_CASE("a call that blocks beyond its deadline is told once, and its end says so") {
  std::atomic<int> told = 0;
  std::atomic<bool> released = false;
  CallGuard guard([&](const char* what, double seconds) {
    CHECK(std::string(what) == "stuck");
    CHECK(seconds == 0.1);
    ++told;
    released = true;
  });
  guard.begin("quick", 10);
  CHECK(guard.end());
  guard.begin("stuck", 0.1);
  while (!released) std::this_thread::yield();
  CHECK_FALSE(guard.end());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(told == 1);
}

TEST_CASE("the stand-in refuses a call before the last has settled, for good: init.cc:422") {
  // ncclCommEnsureReady gives ncclInvalidArgument; ncclEnqueueCheck keeps it (enqueue.cc:3141,
  // 3170).
  Alone alone(false);
  const Functions& call = alone.library.call();
  call.group_start();
  CHECK(alone.reduce() == abi::kSuccess);
  CHECK(alone.reduce() == abi::kSuccess);  // in one group: nothing has been handed over
  CHECK(call.group_end() == abi::kInProgress);
  while (alone.state() == abi::kInProgress) std::this_thread::yield();
  CHECK(alone.state() == abi::kSuccess);
  int refused = 0;  // the work may be done before the next call comes
  for (int i = 0; i < 1000 && refused == 0; ++i) refused += alone.reduce() == 4 ? 1 : 0;
  REQUIRE(refused == 1);
  CHECK(alone.state() == abi::kInvalidArgument);
}

TEST_CASE("the stand-in keeps the depth of groups per thread: group.cc:27") {
  Alone alone(true);
  const Functions& call = alone.library.call();
  call.group_start();
  std::thread other([&] { CHECK(alone.reduce() == abi::kSuccess); });
  other.join();
  CHECK(alone.out == 1);  // ran at once: the other thread is in no group
  alone.out = 0;
  CHECK(alone.reduce() == abi::kSuccess);
  CHECK(alone.out == 0);  // this one is
  CHECK(call.group_end() == abi::kSuccess);
  CHECK(alone.out == 1);
}

TEST_CASE("communicators block unless they are asked not to, and calls follow each other") {
  const Library library = stand_in();
  for (const bool blocking : {true, false}) {
    with_context([&](Context& context) {
      Devices devices = host_devices(2);
      Communicators comms(library, context, {}, devices, {.blocking = blocking});
      CHECK(comms.blocking() == blocking);
      NcclCall call({.size = *collective_size(Collective::all_reduce, 4096, 4, 2)}, comms, {});
      CHECK(call.estimate().has_value() == blocking);
      call.set_calls(7);
      call.prepare(1);
      call.run();
      CHECK_FALSE(call.verify(1));
    });
  }
  CHECK(CommOptions{}.blocking);
}

TEST_CASE("graphs die before the communicators whose calls they hold: init.cc:2750") {
  const Library library = stand_in();
  const auto log = std::filesystem::temp_directory_path() /
                   ("cb-nccl-calls-" + std::to_string(::getpid()) + ".log");
  ::setenv("FAKE_NCCL_LOG", log.c_str(), 1);
  with_context([&](Context& context) {
    Devices devices;
    devices.push_back(std::make_unique<GraphDevice>(library.path()));
    auto& device = static_cast<GraphDevice&>(*devices[0]);
    {
      Communicators comms(library, context, {}, devices, {});
      {
        NcclCall call({.size = *collective_size(Collective::all_reduce, 4096, 4, 1)}, comms,
                      {.graph = true});
        call.set_calls(3);
        call.prepare(1);
        call.run();
        CHECK_FALSE(call.verify(1));
        CHECK(device.launched == 1);
      }
    }
  });
  ::unsetenv("FAKE_NCCL_LOG");
  const std::string told = read_file(log);
  std::filesystem::remove(log);
  CHECK(told.find("nvls ") != std::string::npos);  // of a communicator that begins
  // The stand-in waits for two seconds and then says so; NCCL waits for ever.
  CHECK(told.find("destroy waits for a graph") == std::string::npos);
}

TEST_CASE("destroying a communicator that does not end is left behind, and told") {
  const Library library = stand_in();
  ::setenv("FAKE_NCCL", "destroy_hang=0", 1);
  std::string told;
  double took = 0;
  with_context([&](Context& context) {
    context.logger = [&](const std::string& text) { told += text; };
    Devices devices = host_devices(1);
    double start = 0;
    {
      const Communicators comms(library, context, {}, devices, {.wait_seconds = 0.5});
      start = monotonic_seconds();
    }
    took = monotonic_seconds() - start;
  });
  ::unsetenv("FAKE_NCCL");
  CHECK(took >= 0.5);
  CHECK(took < 20);
  CHECK(told.find("n0: ncclCommDestroy has not come back in") == 0);
  CHECK(told.find("next: ") != std::string::npos);
}

TEST_CASE("a registration that the library ignored is not counted") {
  const Library library = stand_in();
  for (const char* word : {"", "no_register"}) {
    ::setenv("FAKE_NCCL", word, 1);
    with_context([&](Context& context) {
      Devices devices = host_devices(2);
      Communicators comms(library, context, {}, devices, {});
      const NcclCall call({.size = *collective_size(Collective::all_reduce, 4096, 4, 2)}, comms,
                          {.registering = Register::user});
      CHECK(call.registrations().asked == 4);
      CHECK(call.registrations().taken == (*word == '\0' ? 4 : 0));
    });
  }
  ::unsetenv("FAKE_NCCL");
}

TEST_CASE("an error inside a group closes the group: the next calls run") {
  // ncclGroupDepth is kept per thread (group.cc:27): left open, all later calls would only queue.
  const Library library = stand_in();
  with_context([&](Context& context) {
    Devices devices = host_devices(2);
    Communicators comms(library, context, {}, devices, {});
    CHECK_THROWS_AS(
        comms.grouped("a call",
                      [](size_t i) { return i == 0 ? abi::kSuccess : abi::kInvalidUsage; }),
        Error);
    NcclCall call({.size = *collective_size(Collective::all_reduce, 4096, 4, 2)}, comms, {});
    call.set_calls(2);
    call.prepare(1);
    call.run();
    CHECK_FALSE(call.verify(1));
  });
}
