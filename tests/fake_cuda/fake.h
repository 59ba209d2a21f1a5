// A CUDA runtime and a cuBLASLt that work on host memory, and the real kernels on the CPU
// (launches.cpp), for the program that the tests link with them: so the order of calls, waits and
// checks is really run. Work is queued and done only when somebody asks whether it is done, so that
// a missing wait shows as old data. Times are those of an invented device.
//
// CLUSTERBENCH_FAKE_CUDA says what the devices are like, in words separated by spaces, each for all
// devices (KEY=VALUE) or for one (KEY@DEVICE=VALUE):
//   devices=2  memory=268435456  capability=90  driver=13000  peer=0 (none reaches another)
//   count_error=802       cudaGetDeviceCount fails with that code
//   die@1=40              the 40th kernel or product on the device fails, and all that follows
//   full@1=40             after the 40th there is no memory left: another program has taken it
//   pinned_full=1         the host can pin no memory
//   fail_memory_info@0=2  asking for its free memory the second time fails
//   no_kernels=209        CUDA's error for asking for a kernel; 209: none for the device
//   no_capture=900        CUDA's error for beginning to record a graph
//   no_end=901            … for ending it: something in it could not be recorded
//   blas=7                cublasLtCreate gives that status
//   blas_meets_death@1=1  the device dies while cuBLASLt looks for algorithms
//   hang@1=40             … never ends; CLUSTERBENCH_FAKE_CUDA_HUNG names a file that is made when
//                         it is launched. CLUSTERBENCH_FAKE_CUDA_SLOW_EXIT: the program lingers
//                         0.3 s when the devices are gone, as other libraries at its end let it
//   lost@1=40             … is left out, and nobody is told
//   hang_copy@1=3         the 3rd copy to or from the host never ends; die_copy fails, and all that
//                         follows
//   slow@1=0.5            half as fast
//   flip@1=OPERATION      one bit of every result is wrong: copy, gemm, triad, read, chain,
//                         march; exchange: of rows of a matrix, the first does not happen;
//                         wobble: every second matrix that is made is another one;
//                         operator, sweep, coarse: of conjugate gradients; update: products of fp64
//                         that add to their result do nothing
//                         attention: of a token that is generated; unsteady: every seventh time;
//                         nan: in the feed-forward of a training; sum: of a mixture of experts
//   forget_wait@1=3       the third time that a stream is to wait for an event, it does not
//   launch=2e-5           the host needs so many seconds for a launch, and all devices have one
//   clock:
//                         one that has nothing queued idles. CLUSTERBENCH_FAKE_CUDA_BUSY names a
//                         file for "DEVICE FROM TO", a line for each time without a gap
//   query=1               the host needs so many seconds of that clock to look at an event
//   flops=1e8             of a product, a second (1e9); flops_TYPE for one type of operands only:
//                         fp64 fp32 tf32 fp16 bf16 fp8 int8 fp4
//   host_rate=5e10        bytes a second of copies from and to the host (1e9); also peer_rate, of
//                         copies between devices, and memory_rate, of kernels and other copies
//   start=0               seconds before a kernel or copy begins (2e-6)
//   host=2                number of the host, which is the first byte of each UUID
//   name=NVIDIA_B200      what devices are called (NVIDIA_H20)
//   total=1.8e11          bytes of memory that they say to have
//   wall=1                the products take their time by the wall's clock too, from when they are
//                         launched: beside what the host and other libraries do
//   nap=1e-3              who asks too early for an event sleeps so long: many ranks that wait
//                         leave the processors to each other
//   dma_buf=1             memory can be exported as a dma-buf (the driver refuses)
//   refuse=gemm           cuBLASLt proposes nothing
//   launch_cost=1e-4      wall seconds that a launch of a kernel really takes its caller; also
//                         copy_cost, graph_cost (a whole graph), malloc_cost and pool_cost (each of
//                         allocating and freeing)
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace fake {

// The script's value for a device; `otherwise` if it has none.
double number(const std::string& key, int device, double otherwise);
std::string text(const std::string& key, int device);

// True if results of the operation are to be wrong on the device that the stream belongs to.
bool flips(void* stream, const char* operation);

// Queues work that takes `seconds` of the device's time; `counted`: as a kernel or product does,
// for die and hang. The runtime's error code.
int enqueue(void* stream, double seconds, bool counted, std::function<void()> work);

int device_of(void* stream);
// Keeps the caller busy for as many seconds of the wall's clock as the script says.
void spend(const char* key);
// Lets the caller sleep as the script says, if it does.
void nap();

// The device of the calling thread, and the end of a device.
int selected_device();
void kill(int device);

// Keeps the stream busy for that long, by the wall's clock.
int enqueue_spin(void* stream, double seconds);

constexpr double bytes_per_second = 1e9;
constexpr double flops_per_second = 1e9;

// Queues a kernel that takes the time of so many bytes.
template <typename Work>
int kernel(void* stream, std::size_t bytes, Work work) {
  const double rate = number("memory_rate", -1, bytes_per_second);
  return enqueue(stream, static_cast<double>(bytes) / rate, true, std::move(work));
}

}  // namespace fake
