// A stand-in for libnccl that moves host memory between processes of one machine: what its parts
// share. FAKE_NCCL says how it behaves, words separated by commas:
//   version=N                 ncclGetVersion's answer (22809)
//   init_hang=RANK            this rank never joins its communicator
//   hang=RANK:N wrong=RANK:N error=RANK:N
//                             from its Nth call on this rank computes nothing more; flips a bit of
//                             what it received; tells a remote error
//   late_sends=RANK:MS        what this rank sends is read that much later
//   steady                    a chunk that comes late is not made up for: a pause gains nothing
//   cta_rate=MB               each of its thread blocks sends so many MB/s; 32 without a limit
//   rate=MB slow=RANK:MB      every rank's sends take at least this, in MB/s; this rank's too
//   bus=FUNCTION:KB           a call takes at least as long as at a bus bandwidth of KB kB/s, in a
//                             communicator on one host; FUNCTION as NCCL names it, and SendRecv
//   across=FUNCTION:KB        the same in a communicator over several hosts
//   slow_rail=PLACE:PERCENT   the process at this place on its host has that share of `across`
//   pause=MS                  a rank that waits looks again after so long; paced 0.2 ms, else 0.02
//   abort=local               an abort ends this rank's calls alone, as it does between GPUs of one
//                             host: the others go on waiting. Else they are told a remote error
//   destroy_hang=RANK         destroying this rank's communicator never ends
//   duplicate                 refuses to make communicators, as for two ranks on one GPU
//   no_register               says success for a registration and gives no handle
//   hosts=N                   the ranks of a communicator stand for those of N hosts
//   hosts=named               two ranks are of one host if it has one name
//   with:NAME=VALUE:MB        rate of every rank if this variable of the environment has this value
//   net=NAME                  what the network calls itself: IB
//   socket=RANK:1 no_gdr=RANK:1 no_nvls=RANK:1
//                             this rank (or all: socket=1) logs sockets, host memory for the NIC,
//                             no channels of NVLS
//   pxn                       logs connections through the NIC of the next rank
//   sharp nvls nvl72 gdr_pci  logs CollNet if NCCL_COLLNET_ENABLE=1; NVLS unless
//   NCCL_NVLS_ENABLE=0;
//                             NVLink between hosts; the kind of GPUDirect, as 2.26 and newer do
//   silent                    logs no connection
//   streams                   calls of a stream of the stand-in CUDA (tests/fake_cuda) begin and
//   end in its
//                             order, and do not block; without this word they begin at once
//   ras                       rank 0 answers at NCCL_RAS_ADDR as the RAS service does
// FAKE_NCCL_LOG names a file to which every ncclCommAbort, every registration and every begin and
// end in a stream adds a line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fake {

constexpr int kMaxRanks = 32;
constexpr size_t kChunk = 1 << 16, kHostName = 65;

enum Result : int {
  kSuccess = 0,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemote = 6,
  kInProgress = 7
};

// One direction between two ranks, in memory that the processes share.
struct Mailbox {
  std::atomic<uint32_t> full;
  uint32_t bytes;
  char data[kChunk];
};
struct Shared {
  std::atomic<int> attached;
  std::atomic<int> failed;  // a rank has aborted: the others are told a remote error
  // A rank has come to its first send to another; to its first receive from another.
  std::atomic<char> sends[kMaxRanks][kMaxRanks], receives[kMaxRanks][kMaxRanks];
  char hosts[kMaxRanks][kHostName];     // name of each rank's host
  Mailbox boxes[kMaxRanks][kMaxRanks];  // from, to
};

struct Transfer {
  char* at;
  size_t left;
};

// What a group of calls moves, per peer in order, and what is computed when all has arrived.
struct Work {
  std::map<int, std::deque<Transfer>> sends, receives;
  std::set<int> sends_to, receives_from;  // by ncclSend and ncclRecv
  std::vector<std::function<void()>> after;
  std::map<std::string, double> bus_bytes;  // of each function, as bus bandwidth counts them
  bool flips = false;
  char* received = nullptr;                      // where a wrong bit is put
  void* stream = nullptr;                        // in whose order it is done; null: at once
  std::shared_ptr<std::atomic<bool>> over = {};  // where it is done in a stream's order
  std::string name() const { return bus_bytes.empty() ? "" : bus_bytes.begin()->first; }
};

struct Comm {
  Shared* shared = nullptr;
  std::string name;
  int rank = 0, ranks = 1;
  bool blocking = true;
  int max_ctas = 0;  // 0 or less: not limited
  int calls = 0;
  std::vector<char> factor;     // of ncclRedOpCreatePreMulSum's operation
  double bytes_per_second = 0;  // of its sends; 0: as fast as it can
  double made_up_for = 10;      // chunks
  double next_send = 0;         // seconds of the steady clock
  double free_at = 0;           // seconds of the steady clock: the paced call before has ended
  std::atomic<int> pending{0};
  std::atomic<int> error{0};
  std::atomic<bool> stop{false};
  std::atomic<int> callers{0};  // threads that wait within a call: an abort frees nothing before
  std::atomic<int> graphs{0};   // that were captured of its calls and live
  std::mutex mutex;
  std::deque<std::unique_ptr<Work>> queue;
  std::vector<std::shared_ptr<std::atomic<bool>>> stuck;  // failed: on the device until the abort
  std::unique_ptr<Work> open;                             // of the group that is being made
  std::thread worker;
};

// The number behind `key=` if this rank (or any, where none is named) is meant, else -1.
long setting(const std::string& key, int rank);
bool has_word(const std::string& word);
void log_line(const std::string& line);

void* attach(const std::string& name, bool create);
// Work in the order of a stream (streams.cpp): whether it belongs there, and queueing it.
bool in_stream(const Work& work);
void queue_in_stream(Comm* comm, std::unique_ptr<Work> work);
void live(Comm* comm);
void die(Comm* comm);       // its works in streams are over, begun or not
void run_comm(Comm* comm);  // the worker's thread

// As ncclTransportP2pSetup: a group ends once the peers of its first sends and receives have come
// to theirs, before anything of it begins. A result; after an error nothing begins.
int connect(const std::vector<Comm*>& comms);

// The pace of calls (pace.cpp).
bool is_paced();
bool on_one_host(const Comm* comm, int a, int b);
bool spans_hosts(const Comm* comm);
double pace_seconds(const Comm* comm, const Work& work);
double begin_call(const Comm* comm);
void keep_pace(Comm* comm, double begun, double seconds);

size_t width(int type);
// into[i] = into[i] op from[i]; avg adds.
void combine(int type, int op, char* into, const char* from, size_t count);
void divide(int type, char* at, size_t count, int by);

void start_ras();

int version();  // of the library, 22809
// What NCCL of this version writes to NCCL_DEBUG_FILE with NCCL_DEBUG=INFO and the subsystem INIT
// when ranks are connected, and with TUNING on rank 0 at every call.
void log_connections(const Comm* comm);
void log_choice(const Comm* comm, const char* function, size_t bytes);

// Whether a call must be refused: the last one of a communicator that does not block goes on.
int refused(Comm* comm);

}  // namespace fake
