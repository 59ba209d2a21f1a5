// Stacks are switched by a few instructions on x86-64, and by ucontext elsewhere, which asks the
// system for its signal mask at each switch. AddressSanitizer is told of each switch.
#include "tests/device_executor/fiber.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__) || defined(CB_FIBERS_BY_UCONTEXT)
#define CB_UCONTEXT 1
#include <ucontext.h>
#else
#define CB_UCONTEXT 0
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CB_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CB_ASAN 1
#endif
#ifdef CB_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace device_executor {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;

#ifdef CB_ASAN
void tell_leaving(void** kept, const void* to, std::size_t bytes) {
  __sanitizer_start_switch_fiber(kept, to, bytes);
}
void tell_arrived(void* kept, const void** from, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(kept, from, bytes);
}
void forget_frames(void* stack, std::size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
#else
void tell_leaving(void**, const void*, std::size_t) {}
void tell_arrived(void*, const void**, std::size_t*) {}
void forget_frames(void*, std::size_t) {}
#endif

}  // namespace

#if !CB_UCONTEXT
// Keeps the registers that a function must keep on the old stack, and takes those of the new one
// from it.
extern "C" void cb_switch_stacks(void** keep, void* to);
asm(R"(
.text
.globl cb_switch_stacks
.hidden cb_switch_stacks
.type cb_switch_stacks, @function
cb_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cb_switch_stacks, .-cb_switch_stacks
)");
#endif

struct Fiber::Context {
#if CB_UCONTEXT
  ucontext_t place{};
#else
  void* place = nullptr;  // stack pointer
#endif
  void* frames = nullptr;  // AddressSanitizer's
};

namespace {

// Of whoever entered: one thread of the system, since launches take turns.
#if CB_UCONTEXT
ucontext_t outside;
void switch_places(ucontext_t& keep, ucontext_t& to) { swapcontext(&keep, &to); }
#else
void* outside = nullptr;
void switch_places(void*& keep, void* to) { cb_switch_stacks(&keep, to); }
#endif
void* outside_frames = nullptr;
const void* outside_stack = nullptr;
std::size_t outside_bytes = 0;
bool from_outside = false;

}  // namespace

Fiber::Fiber(void (*entry)()) : entry_(entry), context_(new Context) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = kStackBytes;
  // Below the stack lies a page that nobody may touch.
  void* memory = mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page, PROT_NONE);
  stack_ = static_cast<char*>(memory) + page;
  restart();
}

Fiber::~Fiber() {
  forget_frames(stack_, bytes_);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  munmap(static_cast<char*>(stack_) - page, bytes_ + page);
  delete context_;
}

void Fiber::restart() {
  forget_frames(stack_, bytes_);
#if CB_UCONTEXT
  getcontext(&context_->place);
  context_->place.uc_stack.ss_sp = stack_;
  context_->place.uc_stack.ss_size = bytes_;
  context_->place.uc_link = nullptr;
  makecontext(&context_->place, entry_, 0);
#else
  // As if the entry had been called: six kept registers, then where to "return" to, then where the
  // entry would.
  auto** top = reinterpret_cast<void**>(static_cast<char*>(stack_) + bytes_);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry_);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  context_->place = top;
#endif
  context_->frames = nullptr;
}

void Fiber::enter() {
  from_outside = true;
  tell_leaving(&outside_frames, stack_, bytes_);
  switch_places(outside, context_->place);
  tell_arrived(outside_frames, nullptr, nullptr);
}

void Fiber::leave() {
  tell_leaving(&context_->frames, outside_stack, outside_bytes);
  switch_places(context_->place, outside);
  arrived();
}

void Fiber::switch_to(Fiber& next) {
  tell_leaving(&context_->frames, next.stack_, next.bytes_);
  switch_places(context_->place, next.context_->place);
  arrived();
}

void Fiber::arrived() {
  if (from_outside)
    tell_arrived(context_->frames, &outside_stack, &outside_bytes);
  else
    tell_arrived(context_->frames, nullptr, nullptr);
  from_outside = false;
}

}  // namespace device_executor
