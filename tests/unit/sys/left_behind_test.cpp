#include "sys/os/left_behind.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/os/deadline_call.h"

using namespace cb;

namespace {

struct Ended {
  int code = -1;
  std::string said;
};

// What a process says, and how it ends, if it ends by end_of_process(7) while a thread sleeps for
// `thread_seconds`. What exit() calls says "destroyed".
Ended process_with_thread(double thread_seconds, double patience_seconds) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);  // the child has a copy of what is buffered
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    std::atexit([] { std::printf("destroyed"); });
    std::printf("measured ");
    run_left_behind(
        [=] { std::this_thread::sleep_for(std::chrono::duration<double>(thread_seconds)); });
    const int code = end_of_process(7, patience_seconds);
    std::fflush(nullptr);
    std::printf("destroyed");
    std::fflush(nullptr);
    ::_exit(code);
  }
  ::close(ends[1]);
  Ended out;
  char text[64];
  for (ssize_t n = 0; (n = ::read(ends[0], text, sizeof text)) > 0;)
    out.said.append(text, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return out;
}

}  // namespace

TEST_CASE("a process ends without destroying anything while a thread is left behind") {
  const Ended stuck = process_with_thread(60, 0.1);
  CHECK(stuck.code == 7);
  CHECK(stuck.said == "measured ");  // written, although exit() was not called
  const Ended ends_in_time = process_with_thread(0.05, 30);
  CHECK(ends_in_time.code == 7);
  CHECK(ends_in_time.said == "measured destroyed");
}

TEST_CASE("a thread that is left behind counts until what it owns is destroyed") {
  std::atomic<bool> go = false, gone = false;
  struct Owned {
    std::atomic<bool>* gone;
    ~Owned() { *gone = true; }
  };
  auto owned = std::make_shared<Owned>(Owned{&gone});
  gone = false;
  const int before = threads_left_behind();
  run_left_behind([owned = std::move(owned), &go] {
    while (!go) std::this_thread::yield();
  });
  CHECK(threads_left_behind() == before + 1);
  CHECK_FALSE(gone);
  go = true;
  while (threads_left_behind() > before) std::this_thread::yield();
  CHECK(gone);
}

TEST_CASE("a call in time gives its result or throws, a late one is left behind") {
  CHECK(call_with_deadline<int>(30, [] { return 3; }) == 3);
  CHECK_THROWS_AS(call_with_deadline<int>(30, []() -> int { throw std::string("no"); }),
                  std::string);
  const auto release = std::make_shared<std::atomic<bool>>(false);
  CHECK_FALSE(call_with_deadline<int>(0.05, [release] {
    while (!*release) std::this_thread::yield();
    return 1;
  }));
  CHECK(threads_left_behind() >= 1);
  *release = true;
}
