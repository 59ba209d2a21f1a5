#include "sys/os/left_behind.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>
#include <utility>

#include <unistd.h>

namespace cb {
namespace {

// Of the process: its end is what they have in common. It has no destructor.
std::atomic<int>& left_behind() {
  static std::atomic<int> running{0};
  return running;
}

}  // namespace

void run_left_behind(std::function<void()> work) {
  ++left_behind();
  try {
    std::thread([work = std::move(work)]() mutable {
      work();
      work = nullptr;  // what it owns ends before the thread counts as ended
      --left_behind();
    }).detach();
  } catch (...) {
    --left_behind();
    throw;
  }
}

int threads_left_behind() { return left_behind(); }

int end_of_process(int exit_code, double patience_seconds) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_seconds);
  while (threads_left_behind() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (threads_left_behind() == 0) return exit_code;
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::_exit(exit_code);
}

}  // namespace cb
