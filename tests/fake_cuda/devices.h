// The stand-in's devices: memory, streams with their queues, and the invented clock. What the
// runtime's functions (runtime.cpp) and the kernels share.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/fake_cuda/fake.h"

namespace fake {

using Clock = std::chrono::steady_clock;

struct Stream;

// Where an event was recorded last; recorded again, it has another.
struct Point {
  Stream* stream = nullptr;  // in whose queue it is; null: reached
  double at = 0;
};

// A launch that a graph holds.
struct Node {
  double seconds = 0;
  bool counted = false;
  std::function<void()> run = {};
  std::function<void()> queue = {};  // instead: another library queues its work
};

struct Work {
  double seconds = 0;
  double launched_at = 0;  // by the host's clock
  std::function<void()> run = {};
  std::shared_ptr<Point> reached = {};
  std::shared_ptr<Point> awaits = {};  // goes on once that has been reached
  // Another library's work in this stream: begun when its turn has come, and over once this is
  // true.
  std::function<bool()> over = {};
  double blocks = 0;             // wall seconds; infinite for a hang
  Clock::time_point ready = {};  // by the wall's clock, not done before
};

struct Stream {
  int device = 0;
  int priority = 0;
  double now = 0;
  std::deque<Work> queue = {};
  Clock::time_point blocked_until = {};
  bool blocked = false;
  Clock::time_point last_ready = {};
  bool capturing = false;
  std::vector<Node> nodes = {};
};

struct Event {
  int device = 0;
  std::shared_ptr<Point> point = std::make_shared<Point>();
  bool recorded = false;
  bool asked = false;
};

struct Device {
  size_t free = 0, total = 0;
  int host_copies = 0;
  int counted = 0;       // launched kernels and products
  int computed = 0;      // what has been done of them, and copies
  int waits = 0;         // of streams for events
  int memory_infos = 0;  // how often its free memory was asked for
  bool dead = false;
  std::vector<std::pair<double, double>> busy = {};  // on the invented clock, where it is kept
};

struct Block {
  int device = -1;  // -1: pinned host memory
  size_t bytes = 0;
};

extern thread_local int current;
extern thread_local cudaError_t last_error;
extern std::map<void*, Block> blocks;
extern std::set<Stream*> streams;
extern double host_now;  // seconds of the invented clock: launching and waiting make it go on

// Remembers an error, as the real runtime does.
cudaError_t result(cudaError_t code);
int count();  // of devices
Device& device(int i);
cudaError_t state(int i);
Stream& stream_of(void* handle);
const Block* block_of(const void* address);

// Does what is next in the queue, which is not empty. False if that is blocked.
bool take_one(Stream& stream, std::shared_ptr<Point>* reached = nullptr);
// Works the queue off, up to the point of `until` (null: all of it). False if it is blocked.
bool drain(Stream& stream, const Point* until);
void begin_foreign_work();
// The invented clock. Without a price of launches the devices have none in common: each counts its
// own work.
double clock_or_zero();
// Queues a launch that has been paid for.
int enqueue_launched(Stream& stream, double seconds, bool counted, std::function<void()> work);

}  // namespace fake
