// A launch while it runs: the threads of one block at a time. Within: only the executor's files
// include it.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/device_executor/executor.h"
#include "tests/device_executor/fiber.h"
#include "tests/device_executor/memory.h"

namespace device_executor {

constexpr unsigned kLanes = 32;

class Grid;
// What each lane gets of matrices, where its value says: tensor.cpp.
void give_matrices(Meeting kind, const std::array<std::uint64_t, kLanes>& brought);

// The launch that runs; null: none, and an access is not a kernel's.
extern Grid* running_grid;
// True while the code of a kernel runs, false in the executor's own.
extern bool in_kernel;

enum class State { unstarted, ready, at_barrier, in_warp, awaiting, ended };

struct Thread {
  State state = State::unstarted;
  Fiber* fiber = nullptr;
  // What it waits in, and what it brings and takes.
  Meeting meeting = Meeting::barrier;
  Site site = {nullptr, 0};
  unsigned mask = 0;
  std::uint64_t value = 0;
  int source = 0;
  const std::uint64_t* awaited = nullptr;  // the word, until it is `value`
  bool fenced = false;                     // since it began
  std::uint64_t heard = 0;  // up to when an announcement has told it what its own block did
};

// Of each lane the newest use that the lanes of the warp know of: what a lane did before a warp
// barrier is ordered before what the others do behind it.
struct Warp {
  unsigned waiting = 0;  // lanes that wait in the warp
  std::array<std::array<std::uint32_t, kLanes>, kLanes> known = {};
};

struct SharedVariable {
  const char* name;
  Site site;
  std::size_t bytes, alignment;
  void* memory;
};

// A copy that a thread has begun and for which it has not waited. What is copied arrives when it
// waits, the last moment at which it may.
struct PendingCopy {
  void* to;
  const void* from;
  unsigned group;  // of the thread, counted from its first
};
struct ThreadCopies {
  std::vector<PendingCopy> pending;
  unsigned group = 0;  // that is open
};

// SplitMix64, for orders.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

// A block that has begun. Of blocks that run together, those whose turn it is not lie aside.
struct BlockState {
  std::uint64_t block_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<unsigned> unstarted_;  // in the order in which they start
  std::size_t started_ = 0;
  std::vector<unsigned> ready_;
  std::size_t resumed_ = 0;
  unsigned at_barrier_ = 0;
  unsigned ended_ = 0;
  std::uint32_t epoch_ = 0;
  int block_result_ = 0;
  std::vector<SharedVariable> shared_;
  std::vector<ThreadCopies> copies_;  // of each thread; empty until the block begins the first
  std::size_t pending_copies_ = 0;    // of all threads
  // Of each block: up to when this one has learned what that one wrote.
  std::map<std::uint64_t, std::uint64_t> known_blocks_;
};

class Grid : private BlockState {
 public:
  Grid(const Launch& launch, const Settings& settings);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  void run();

  // What kernels call, by way of words.h and launch.h.
  int meet_block(Meeting kind, int predicate, Site site);
  std::uint64_t meet_warp(Meeting kind, unsigned mask, std::uint64_t value, int source, Site site);
  int shuffle_source(Shuffle way, unsigned operand, int width, Site site);
  void begin_atomic(const void* address, bool announces);
  void end_atomic();
  void fence() { threads_[running_].fenced = true; }
  void pause();
  void await_more(const std::uint64_t* word, std::uint64_t value, Site site);
  std::uint32_t multiprocessor() const;
  void* shared_variable(const char* name, std::size_t bytes, std::size_t alignment, Site site);
  void* dynamic_shared_memory();

  // Tensor cores and asynchronous copies: tensor.cpp.
  void require_16_bytes(const void* address, bool shared, const char* what, Site site);
  void copy_begin(void* to_shared, const void* from, Site site);
  void copies_commit();
  void copies_wait(unsigned left);

  void access(std::uintptr_t address, std::size_t bytes, bool writes);  // accesses.cpp
  void work();  // what a fiber does: threads, one after the other

 private:
  // Blocks and threads: grid.cpp.
  std::vector<std::uint64_t> order_of_blocks();
  void run_block(std::uint64_t block);
  void run_together();
  bool take_turn(std::uint64_t block);  // false: no thread of it could go on
  void begin_block(std::uint64_t block);
  void end_block();
  void give_back_fibers();
  void go_on();          // until no thread can
  bool wake_awaiting();  // false: no thread has begun and could go on
  bool has_ended() const { return ended_ == threads_of_block_; }
  bool choose();           // the thread that goes on next; false: none can
  void start_or_resume();  // the chosen one
  void wait(State state);  // of the running thread, until it is ready
  void make_ready(unsigned thread);
  void check_deadline();  // within a fiber
  bool is_late() const;
  std::string too_long() const;
  Fiber& idle_fiber();

  // Meetings: meetings.cpp.
  void release_block();
  void go_on_in_turn();
  void release_warp(Warp& warp, unsigned first);
  bool warp_is_complete(const Warp& warp, unsigned first, unsigned mask) const;
  // Ends the launch for what the running thread did: `words` says it. Never comes back to the
  // thread, whose stack is given up as it is: so nothing on it may own memory, and the words are
  // made and used up within.
  template <typename Words>
  [[noreturn]] void fail(const Words& words) {
    in_kernel = false;
    tell(words());
    give_up();
  }
  void tell(const std::string& what);
  [[noreturn]] void give_up();
  [[noreturn]] void tell_stuck() const;
  [[noreturn]] void tell_deadlock();
  std::string whereabouts(unsigned thread) const;
  std::string name_of_thread(unsigned thread) const;
  std::string name_of_block() const;

  // Races: accesses.cpp.
  void use(Region& region, std::size_t at, bool writes, const Use& now);
  bool ordered(const Use& before, const Use& now) const;
  void check_arrived(const Region& region, std::size_t at, std::size_t bytes, bool writes);
  void check_initialised(const Region& region, std::size_t at, std::size_t bytes, bool writes);

  void set_index(unsigned thread) const;
  void set_block() const;
  unsigned threads_in_warp(unsigned warp) const;

  const Launch& launch_;
  const Settings& settings_;
  Draws draws_;
  unsigned threads_of_block_;
  std::uint64_t serial_;  // of the launch
  std::chrono::steady_clock::time_point deadline_;
  double begun_;  // by this thread's processor_seconds()
  std::uint64_t switches_ = 0;

  std::vector<BlockState> aside_;  // of a launch whose blocks run together
  unsigned running_ = 0;           // thread of the block
  bool atomic_ = false;
  // Of each address of an atomic: which block has announced by it what it wrote before, and when.
  std::map<std::uintptr_t, std::map<std::uint64_t, std::uint64_t>> announced_;
  std::uint64_t time_ = 0;

  std::vector<Fiber*> idle_;
  std::string failure_;  // of a thread
};

// For the executor's functions that kernels call.
class OutsideKernel {
 public:
  OutsideKernel() { in_kernel = false; }
  ~OutsideKernel() { in_kernel = true; }
  OutsideKernel(const OutsideKernel&) = delete;
  OutsideKernel& operator=(const OutsideKernel&) = delete;
};

}  // namespace device_executor
