// Which thread runs when. Threads start one after the other on one fiber, as long as none waits;
// one that waits keeps its fiber, and the next thread takes another. So a kernel without barriers
// needs no switch of stacks at all.
#include "tests/device_executor/grid.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>
#include <utility>

#include <time.h>

namespace device_executor {

Place place;
Grid* running_grid = nullptr;
bool in_kernel = false;

namespace {

constexpr unsigned kMostThreads =
    1024;  // of a block; CUDA C++ Programming Guide, Compute Capabilities
constexpr std::size_t kMostSharedBytes = 227 * 1024;  // of a block, on compute capability 9.0

// Fibers outlive launches. The system's threads take turns.
struct Shared {
  std::mutex mutex;
  std::deque<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  std::uint64_t launches = 0;
};
Shared& shared() {
  static Shared all;
  return all;
}

// Time that this thread has had a processor.
double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void fiber_entry() { running_grid->work(); }

std::uint64_t volume(const dim3& d) { return std::uint64_t{d.x} * d.y * d.z; }

}  // namespace

bool possible(const Launch& launch) {
  const dim3 &g = launch.blocks, &b = launch.threads;
  return volume(g) > 0 && g.x <= 0x7fffffff && g.y <= 65535 && g.z <= 65535 && volume(b) > 0 &&
         volume(b) <= kMostThreads && b.x <= 1024 && b.y <= 1024 && b.z <= 64 &&
         launch.shared_bytes <= kMostSharedBytes;
}

std::uint64_t Draws::below(std::uint64_t bound) {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return (z ^ (z >> 31)) % bound;
}

int run(const Launch& launch, const Settings& settings) {
  if (!possible(launch)) return values::invalid_configuration;
  const std::lock_guard lock(shared().mutex);
  Grid grid(launch, settings);
  grid.run();
  check_guards(launch.kernel);
  return values::success;
}

Grid::Grid(const Launch& launch, const Settings& settings)
    : launch_(launch),
      settings_(settings),
      draws_(settings.seed),
      threads_of_block_(static_cast<unsigned>(volume(launch.threads))),
      serial_(++shared().launches),
      deadline_(
          std::chrono::steady_clock::now() +
          std::chrono::milliseconds(static_cast<std::int64_t>(settings.deadline_seconds * 1e3))),
      begun_(processor_seconds()),
      idle_(std::exchange(shared().idle, {})) {
  add_region(launch.held.get(), launch.held_bytes, "the arguments", false);
  add_region(&place, sizeof place, "the thread's place", false);
  running_grid = this;
}

Grid::~Grid() {
  running_grid = nullptr;
  give_back_fibers();
  end_block();
  for (BlockState& block : aside_) {
    std::swap(static_cast<BlockState&>(*this), block);
    give_back_fibers();
    end_block();
  }
  remove_region(launch_.held.get());
  remove_region(&place);
  shared().idle = std::move(idle_);
}

// What a fault interrupted never goes on.
void Grid::give_back_fibers() {
  for (Thread& thread : threads_) {
    if (thread.fiber == nullptr) continue;
    thread.fiber->restart();
    idle_.push_back(std::exchange(thread.fiber, nullptr));
  }
}

void Grid::run() {
  place.threads = launch_.threads;
  place.blocks = launch_.blocks;
  if (launch_.together) return run_together();
  for (const std::uint64_t b : order_of_blocks()) run_block(b);
}

std::vector<std::uint64_t> Grid::order_of_blocks() {
  std::vector<std::uint64_t> order(volume(launch_.blocks));
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  if (settings_.shuffled)
    for (std::uint64_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[draws_.below(i)]);
  return order;
}

// All blocks begin. In rounds each goes on until its threads have ended or wait for another block.
void Grid::run_together() {
  aside_.resize(volume(launch_.blocks));
  for (std::uint64_t b = 0; b < aside_.size(); ++b) {
    begin_block(b);
    std::swap(static_cast<BlockState&>(*this), aside_[b]);
  }
  std::size_t ended = 0;
  while (ended < aside_.size()) {
    bool moved = false;
    ended = 0;
    for (const std::uint64_t b : order_of_blocks()) {
      moved = take_turn(b) || moved;
      ended += aside_[b].ended_ == threads_of_block_ ? 1U : 0U;
    }
    if (!moved && ended < aside_.size()) tell_deadlock();
  }
}

bool Grid::take_turn(std::uint64_t block) {
  std::swap(static_cast<BlockState&>(*this), aside_[block]);
  set_block();
  const bool can = wake_awaiting() || unstarted_.size() > started_;
  if (can) go_on();
  if (can && has_ended()) end_block();
  std::swap(static_cast<BlockState&>(*this), aside_[block]);
  return can;
}

bool Grid::wake_awaiting() {
  for (unsigned thread = 0; thread < threads_of_block_; ++thread) {
    const Thread& t = threads_[thread];
    if (t.state == State::awaiting && *t.awaited >= t.value) make_ready(thread);
  }
  return ready_.size() > resumed_;
}

void Grid::set_block() const {
  const dim3& g = launch_.blocks;
  place.block = {static_cast<unsigned>(block_ % g.x), static_cast<unsigned>(block_ / g.x % g.y),
                 static_cast<unsigned>(block_ / g.x / g.y)};
}

void Grid::begin_block(std::uint64_t block) {
  block_ = block;
  set_block();
  threads_.assign(threads_of_block_, Thread{});
  warps_.resize((threads_of_block_ + kLanes - 1) / kLanes);
  for (Warp& warp : warps_) {
    warp.waiting = 0;
    if (!settings_.checked) continue;
    warp.known = {};
    for (unsigned lane = 0; lane < kLanes; ++lane) warp.known[lane][lane] = 1;
  }
  unstarted_.resize(threads_of_block_);
  std::iota(unstarted_.begin(), unstarted_.end(), 0U);
  if (settings_.shuffled)
    for (unsigned i = threads_of_block_; i > 1; --i)
      std::swap(unstarted_[i - 1], unstarted_[draws_.below(i)]);
  ready_.clear();
  started_ = resumed_ = 0;
  at_barrier_ = ended_ = 0;
  epoch_ = 0;
  known_blocks_.clear();
  copies_.clear();
  pending_copies_ = 0;
}

void Grid::run_block(std::uint64_t block) {
  begin_block(block);
  go_on();
  if (!has_ended()) tell_stuck();
  end_block();
}

void Grid::go_on() {
  while (choose() || (wake_awaiting() && choose())) {
    start_or_resume();
    if (!failure_.empty()) throw Fault(failure_);
    if (is_late()) throw Fault(name_of_block() + too_long());
  }
}

void Grid::end_block() {
  for (const SharedVariable& variable : shared_) {
    remove_region(variable.memory);
    ::operator delete (variable.memory, std::align_val_t{variable.alignment});
  }
  shared_.clear();
}

// Takes the next of those that can run.
bool Grid::choose() {
  const std::size_t fresh = unstarted_.size() - started_, ready = ready_.size() - resumed_;
  if (fresh + ready == 0) return false;
  // In order, those that have begun go first: few stacks are then in use.
  bool resume = ready > 0;
  if (settings_.shuffled) {
    const std::uint64_t draw = draws_.below(fresh + ready);
    resume = draw < ready;
    if (resume) std::swap(ready_[resumed_], ready_[resumed_ + draw]);
  }
  running_ = resume ? ready_[resumed_++] : unstarted_[started_++];
  if (resumed_ == ready_.size()) {
    ready_.clear();
    resumed_ = 0;
  }
  return true;
}

Fiber& Grid::idle_fiber() {
  if (idle_.empty()) {
    shared().fibers.push_back(std::make_unique<Fiber>(fiber_entry));
    return *shared().fibers.back();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

void Grid::start_or_resume() {
  Thread& thread = threads_[running_];
  if (thread.fiber == nullptr) thread.fiber = &idle_fiber();
  thread.fiber->enter();
}

void Grid::work() {
  threads_[running_].fiber->arrived();
  for (;;) {
    // The launch may be another one than before the last leave().
    Grid& grid = *running_grid;
    Fiber* own = grid.threads_[grid.running_].fiber;
    grid.set_index(grid.running_);
    in_kernel = true;
    grid.launch_.run(grid.launch_.held.get());
    in_kernel = false;
    grid.threads_[grid.running_].state = State::ended;
    grid.threads_[grid.running_].fiber = nullptr;
    ++grid.ended_;
    if (++grid.switches_ % 256 == 0 || !grid.choose()) {
      grid.idle_.push_back(own);
      own->leave();
    } else if (grid.threads_[grid.running_].fiber == nullptr) {
      grid.threads_[grid.running_].fiber = own;
    } else {
      grid.idle_.push_back(own);
      own->switch_to(*grid.threads_[grid.running_].fiber);
    }
  }
}

void Grid::set_index(unsigned thread) const {
  const dim3& b = launch_.threads;
  if (b.y == 1 && b.z == 1)
    place.thread = {thread, 0, 0};
  else
    place.thread = {thread % b.x, thread / b.x % b.y, thread / b.x / b.y};
}

void Grid::wait(State state) {
  const unsigned self = running_;
  threads_[self].state = state;
  Fiber& own = *threads_[self].fiber;
  if (++switches_ % 256 == 0 || !choose()) {
    own.leave();  // for a look at the clock, or since nobody can go on
  } else if (running_ != self) {
    if (threads_[running_].fiber == nullptr) threads_[running_].fiber = &idle_fiber();
    own.switch_to(*threads_[running_].fiber);
  }
  set_index(self);
}

void Grid::make_ready(unsigned thread) {
  threads_[thread].state = State::ready;
  ready_.push_back(thread);
}

// Others go first: of a thread that waits for them, or that the seed interrupts.
void Grid::pause() {
  check_deadline();
  make_ready(running_);
  wait(State::ready);
}

void Grid::await_more(const std::uint64_t* word, std::uint64_t value, Site site) {
  check_deadline();
  Thread& self = threads_[running_];
  self.meeting = Meeting::arrival;
  self.site = site;
  self.awaited = word;
  self.value = value;
  wait(State::awaiting);
}

void Grid::check_deadline() {
  if (is_late()) fail([&] { return too_long(); });
}

// A launch that waits for ever uses the processor, and one that does not get it is not late. The
// processor's time is a call of the kernel: it is asked for once the wall's says too long.
bool Grid::is_late() const {
  return std::chrono::steady_clock::now() > deadline_ &&
         processor_seconds() - begun_ > settings_.deadline_seconds;
}

std::string Grid::too_long() const {
  return " has not ended after " + std::to_string(settings_.deadline_seconds) +
         " s: does it wait for another block? Blocks run one after the other here, unless they are "
         "launched "
         "together";
}

unsigned Grid::threads_in_warp(unsigned warp) const {
  return std::min(kLanes, threads_of_block_ - warp * kLanes);
}

std::uint32_t Grid::multiprocessor() const { return static_cast<std::uint32_t>(block_ % 4); }

void* Grid::shared_variable(const char* name, std::size_t bytes, std::size_t alignment, Site site) {
  for (const SharedVariable& v : shared_)
    if (v.site.line == site.line && v.bytes == bytes && std::string_view(v.name) == name &&
        std::string_view(v.site.file) == site.file)
      return v.memory;
  alignment = std::max(alignment, std::size_t{16});
  void* memory = ::operator new (bytes, std::align_val_t{alignment});
  auto* begin = static_cast<unsigned char*>(memory);
  const auto garbage = static_cast<unsigned char>(draws_.below(255) + 1);
  std::fill(begin, begin + bytes, garbage);
  add_region(memory, bytes, "the shared variable " + std::string(name)).of_block = true;
  shared_.push_back({name, site, bytes, alignment, memory});
  return memory;
}

void* Grid::dynamic_shared_memory() {
  return shared_variable("dynamic_shared()", launch_.shared_bytes, 16, {"", 0});
}

}  // namespace device_executor
