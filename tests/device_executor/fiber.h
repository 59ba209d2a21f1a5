// A stack of its own for each thread of a block, and the way from one to the other.
#pragma once

#include <cstddef>

namespace device_executor {

class Fiber {
 public:
  // `entry` never returns: it ends with leave().
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void enter();                 // from no fiber: goes on in this one, until any of them leaves
  void leave();                 // within the fiber: back to whoever entered
  void switch_to(Fiber& next);  // within the fiber: goes on in the other one
  void arrived();               // within the fiber: the first thing that entry does
  void restart();  // gives up what the fiber was doing: the next enter() begins with entry
  bool holds(const void* address) const {
    return address >= stack_ && address < static_cast<const char*>(stack_) + bytes_;
  }

 private:
  struct Context;
  void (*entry_)();
  void* stack_ = nullptr;
  std::size_t bytes_ = 0;
  Context* context_;
};

}  // namespace device_executor
