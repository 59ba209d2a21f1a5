// Barriers, shuffles and votes: who waits for whom, what each gets, and what is told when somebody
// does not come.
#include <algorithm>

#include "tests/device_executor/grid.h"

namespace device_executor {
namespace {

std::string word_of(Meeting meeting) {
  switch (meeting) {
    case Meeting::barrier:
      return "__syncthreads()";
    case Meeting::barrier_count:
      return "__syncthreads_count()";
    case Meeting::barrier_and:
      return "__syncthreads_and()";
    case Meeting::barrier_or:
      return "__syncthreads_or()";
    case Meeting::warp_barrier:
      return "__syncwarp()";
    case Meeting::shuffle:
      return "a shuffle";
    case Meeting::ballot:
      return "__ballot_sync()";
    case Meeting::any:
      return "__any_sync()";
    case Meeting::all:
      return "__all_sync()";
    case Meeting::match:
      return "__match_any_sync()";
    case Meeting::multiply:
      return "a multiplication of matrices";
    case Meeting::load_matrices:
      return "a load of matrices";
    case Meeting::arrival:
      return "await()";
    default:
      return "a reduction of the warp";
  }
}

std::string at(Site site) {
  const std::string_view file = site.file;
  const std::size_t slash = file.rfind('/');
  return std::string(slash == std::string_view::npos ? file : file.substr(slash + 1)) + ":" +
         std::to_string(site.line);
}

bool same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
}

std::string hexadecimal(unsigned mask) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) out += digits[mask >> shift & 15U];
  return out;
}

bool votes(Meeting kind) {
  return kind == Meeting::ballot || kind == Meeting::any || kind == Meeting::all;
}

// What all values give together.
std::uint64_t reduce(Meeting kind, std::uint64_t a, std::uint64_t b) {
  switch (kind) {
    case Meeting::sum:
      return static_cast<std::uint32_t>(a + b);
    case Meeting::least:
      return std::min(a, b);
    case Meeting::most:
      return std::max(a, b);
    case Meeting::bits_and:
      return a & b;
    case Meeting::bits_or:
      return a | b;
    default:
      return a ^ b;
  }
}

}  // namespace

std::string Grid::name_of_block() const {
  const uint3& b = place.block;
  return "kernel " + launch_.kernel + ", block (" + std::to_string(b.x) + "," +
         std::to_string(b.y) + "," + std::to_string(b.z) + ")";
}

std::string Grid::name_of_thread(unsigned thread) const {
  const dim3& b = launch_.threads;
  return "thread (" + std::to_string(thread % b.x) + "," + std::to_string(thread / b.x % b.y) +
         "," + std::to_string(thread / b.x / b.y) + ")";
}

void Grid::tell(const std::string& what) {
  failure_ = name_of_block() + ", " + name_of_thread(running_) + " " + what;
}

void Grid::give_up() {
  threads_[running_].fiber->leave();
  std::abort();  // nobody enters it again
}

std::string Grid::whereabouts(unsigned thread) const {
  const Thread& t = threads_[thread];
  if (t.state == State::ended) return name_of_thread(thread) + " has ended";
  return name_of_thread(thread) + " waits in " + word_of(t.meeting) + " at " + at(t.site) +
         (t.state == State::in_warp ? " for lanes " + hexadecimal(t.mask) : "") +
         (t.state == State::awaiting ? " for " + std::to_string(t.value) : "");
}

// Nobody can go on: a lane that a warp waits for, or a thread that the block waits for, does not
// come.
void Grid::tell_stuck() const {
  for (unsigned thread = 0; thread < threads_of_block_; ++thread) {
    const Thread& t = threads_[thread];
    if (t.state == State::awaiting)
      throw Fault(name_of_block() + ": " + whereabouts(thread) + ", but the word is " +
                  std::to_string(*t.awaited) + " and nobody who could go on raises it");
  }
  for (unsigned thread = 0; thread < threads_of_block_; ++thread) {
    const Thread& t = threads_[thread];
    if (t.state != State::in_warp) continue;
    const unsigned first = thread / kLanes * kLanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((t.mask >> lane & 1U) == 0) continue;
      std::string missing = "no such thread";
      if (first + lane < threads_of_block_) {
        const Thread& other = threads_[first + lane];
        if (other.state == State::in_warp && other.meeting == t.meeting && other.mask == t.mask &&
            same(other.site, t.site))
          continue;
        missing = whereabouts(first + lane);
      }
      throw Fault(name_of_block() + ": " + whereabouts(thread) + ", and lane " +
                  std::to_string(lane) + " does not come: " + missing);
    }
  }
  unsigned waiting = 0, absent = 0;
  for (unsigned thread = 0; thread < threads_of_block_; ++thread)
    (threads_[thread].state == State::at_barrier ? waiting : absent) = thread;
  throw Fault(name_of_block() + ": " + whereabouts(waiting) + ", as " +
              std::to_string(at_barrier_) + " of " + std::to_string(threads_of_block_) +
              " threads do; " + whereabouts(absent));
}

// No block can go on. What is wrong within a block is told before that others wait for it.
void Grid::tell_deadlock() {
  const auto awaits = [](const Thread& t) { return t.state == State::awaiting; };
  BlockState* told = nullptr;
  for (BlockState& block : aside_) {
    if (block.ended_ == threads_of_block_) continue;
    if (told == nullptr) told = &block;
    if (std::any_of(block.threads_.begin(), block.threads_.end(), awaits)) continue;
    told = &block;
    break;
  }
  std::swap(static_cast<BlockState&>(*this), *told);
  set_block();
  tell_stuck();
}

int Grid::meet_block(Meeting kind, int predicate, Site site) {
  Thread& self = threads_[running_];
  self.meeting = kind;
  self.site = site;
  self.value = static_cast<std::uint64_t>(predicate);
  if (++at_barrier_ < threads_of_block_)
    wait(State::at_barrier);
  else
    release_block();
  return block_result_;
}

// The running thread came last.
void Grid::release_block() {
  Thread& last = threads_[running_];
  int count = 0;
  for (unsigned thread = 0; thread < threads_of_block_; ++thread) {
    const Thread& t = threads_[thread];
    if (t.meeting != last.meeting || !same(t.site, last.site))
      fail([&] {
        return "waits in " + word_of(last.meeting) + " at " + at(last.site) + ", but " +
               whereabouts(thread);
      });
    count += t.value != 0 ? 1 : 0;
  }
  block_result_ = count;
  if (last.meeting == Meeting::barrier_and)
    block_result_ = count == static_cast<int>(threads_of_block_) ? 1 : 0;
  if (last.meeting == Meeting::barrier_or) block_result_ = count > 0 ? 1 : 0;
  ++epoch_;
  at_barrier_ = 0;
  for (unsigned thread = 0; thread < threads_of_block_; ++thread)
    if (thread != running_) make_ready(thread);
  go_on_in_turn();
}

// The thread that came last goes on first, but not always where the order is drawn.
void Grid::go_on_in_turn() {
  threads_[running_].state = State::ready;
  if (!settings_.shuffled) return;
  make_ready(running_);
  wait(State::ready);
}

int Grid::shuffle_source(Shuffle way, unsigned operand, int width, Site site) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0)
    fail([&] {
      return "shuffles at " + at(site) + " in groups of " + std::to_string(width) +
             " lanes, which is no power of two up to 32";
    });
  const unsigned lane = running_ % kLanes, w = static_cast<unsigned>(width);
  const unsigned first = lane & ~(w - 1), last = first + w - 1;
  switch (way) {
    case Shuffle::index:
      return static_cast<int>(first + (operand & (w - 1)));
    case Shuffle::up:
      return static_cast<int>(operand <= lane - first ? lane - operand : lane);
    case Shuffle::down:
      return static_cast<int>(operand <= last - lane ? lane + operand : lane);
    case Shuffle::exclusive_or:
      break;
  }
  const unsigned other = lane ^ (operand & 31U);
  return static_cast<int>(other <= last ? other : lane);
}

std::uint64_t Grid::meet_warp(Meeting kind, unsigned mask, std::uint64_t value, int source,
                              Site site) {
  const unsigned lane = running_ % kLanes, first = running_ - lane;
  if ((mask >> lane & 1U) == 0)
    fail([&] {
      return "is lane " + std::to_string(lane) + ", which the mask " + hexadecimal(mask) + " of " +
             word_of(kind) + " at " + at(site) + " does not name";
    });
  if (kind == Meeting::shuffle && (mask >> source & 1U) == 0)
    fail([&] {
      return "shuffles at " + at(site) + " with lane " + std::to_string(source) +
             ", which the mask " + hexadecimal(mask) + " does not name";
    });
  Thread& self = threads_[running_];
  self.meeting = kind;
  self.site = site;
  self.mask = mask;
  self.value = value;
  self.source = source;
  self.state = State::in_warp;
  Warp& warp = warps_[first / kLanes];
  warp.waiting |= 1U << lane;
  if (warp_is_complete(warp, first, mask)) {
    release_warp(warp, first);
    go_on_in_turn();
  } else {
    wait(State::in_warp);
  }
  return self.value;
}

bool Grid::warp_is_complete(const Warp& warp, unsigned first, unsigned mask) const {
  if ((warp.waiting & mask) != mask) return false;
  const Thread& self = threads_[running_];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const Thread& t = threads_[first + lane];
    if (t.meeting != self.meeting || t.mask != mask || !same(t.site, self.site)) return false;
  }
  return true;
}

// Gives each lane of the running thread's meeting its result, in place of what it brought.
void Grid::release_warp(Warp& warp, unsigned first) {
  const Thread meeting = threads_[running_];
  std::array<std::uint64_t, kLanes> brought = {};
  std::array<std::uint32_t, kLanes> known = {};
  std::uint64_t together = 0, ballot = 0, heard = 0;
  bool begun = false;
  const bool of_matrices =
      meeting.meeting == Meeting::multiply || meeting.meeting == Meeting::load_matrices;
  const bool orders =
      meeting.meeting == Meeting::warp_barrier;  // shuffles and votes order no memory
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((meeting.mask >> lane & 1U) == 0) continue;
    brought[lane] = threads_[first + lane].value;
    ballot |= std::uint64_t{brought[lane] != 0} << lane;
    together = begun ? reduce(meeting.meeting, together, brought[lane]) : brought[lane];
    begun = true;
    if (!orders) continue;
    heard = std::max(heard, threads_[first + lane].heard);
    for (unsigned i = 0; i < kLanes; ++i) known[i] = std::max(known[i], warp.known[lane][i]);
  }
  if (of_matrices) give_matrices(meeting.meeting, brought);
  if (votes(meeting.meeting)) together = ballot;
  if (meeting.meeting == Meeting::all) together = ballot == meeting.mask ? 1 : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((meeting.mask >> lane & 1U) == 0) continue;
    Thread& t = threads_[first + lane];
    if (meeting.meeting == Meeting::shuffle) {
      t.value = brought[static_cast<unsigned>(t.source)];
    } else if (meeting.meeting == Meeting::match) {
      t.value = 0;
      for (unsigned i = 0; i < kLanes; ++i)
        if ((meeting.mask >> i & 1U) != 0 && brought[i] == brought[lane]) t.value |= 1U << i;
    } else {
      t.value = together;
    }
    if (orders) {
      t.heard = heard;
      warp.known[lane] = known;
      ++warp.known[lane][lane];
    }
    if (first + lane != running_) make_ready(first + lane);
  }
  warp.waiting &= ~meeting.mask;
}

}  // namespace device_executor
