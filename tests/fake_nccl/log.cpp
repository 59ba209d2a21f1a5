// What the stand-in logs, in the words of the library's versions: src/transport/{p2p,shm,net,
// coll_net}.cc, src/init.cc and src/enqueue.cc at the tags v2.18.6-1 to v2.30.7-1.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_nccl.h"

namespace fake {
namespace {

bool variable_is(const char* name, const char* value) {
  const char* set = std::getenv(name);
  return set != nullptr && std::strcmp(set, value) == 0;
}

bool logs(const char* subsystem) {
  const char* wanted = std::getenv("NCCL_DEBUG_SUBSYS");
  return variable_is("NCCL_DEBUG", "INFO") && wanted != nullptr &&
         std::strstr(wanted, subsystem) != nullptr;
}

class DebugFile {
 public:
  DebugFile() {
    if (const char* name = std::getenv("NCCL_DEBUG_FILE")) file_ = std::fopen(name, "a");
  }
  ~DebugFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  __attribute__((format(printf, 2, 3))) void info(const char* format, ...) {
    if (file_ == nullptr) return;
    std::fputs("host:1:1 [0] NCCL INFO ", file_);
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(file_, format, arguments);
    va_end(arguments);
    std::fputc('\n', file_);
  }

 private:
  FILE* file_ = nullptr;
};

std::string network_name() {
  const char* given = std::getenv("FAKE_NCCL");
  const char* at = given == nullptr ? nullptr : std::strstr(given, "net=");
  if (at == nullptr) return "IB";
  return std::string(at + 4, std::strcspn(at + 4, ","));
}

bool said_of(const char* key, int rank) { return setting(key, rank) > 0; }

// "NET/IB/0(1)/GDRDMA(PCI)/Shared".
std::string network_path(const Comm* c, bool sends) {
  if (said_of("socket", c->rank)) return "NET/Socket/0";
  std::string out = "NET/" + network_name() + "/" + std::to_string(c->rank % 8);
  const bool pxn = has_word("pxn") && !variable_is("NCCL_PXN_DISABLE", "1");
  if (sends && pxn) out += "(" + std::to_string((c->rank + 1) % c->ranks) + ")";
  const bool direct = !said_of("no_gdr", c->rank) && !variable_is("NCCL_NET_GDR_LEVEL", "LOC");
  if (direct) out += "/GDRDMA";
  if (direct && has_word("gdr_pci") && version() >= 22600) out += "(PCI)";
  return out;
}

std::string host_memory_path() { return version() >= 23000 ? "SHM/direct" : "SHM/direct/direct"; }

// How the rank reaches one of its own host, or of its NVLink domain.
std::string near_path(const Comm* c, bool other_host) {
  if (other_host) return "P2P/MNNVL";
  if (!variable_is("NCCL_P2P_DISABLE", "1")) return version() >= 21900 ? "P2P/CUMEM" : "P2P/IPC";
  if (!variable_is("NCCL_SHM_DISABLE", "1")) return host_memory_path();
  return network_path(c, true);
}

bool on_other_host(const Comm* c, int peer) {
  if (has_word("hosts=named")) return !on_one_host(c, c->rank, peer);
  const int hosts = static_cast<int>(std::max(1L, setting("hosts", -1)));
  const int each = std::max(1, c->ranks / hosts);
  return c->rank / each != peer / each;
}

void log_peer(const Comm* c, int peer, DebugFile& log) {
  const bool other_host = on_other_host(c, peer);
  if (other_host && !has_word("nvl72")) {
    log.info("Channel 00/0 : %d[%d] -> %d[%d] [send] via %s", c->rank, c->rank % 8, peer, peer % 8,
             network_path(c, true).c_str());
    log.info("Channel 00/0 : %d[%d] -> %d[%d] [receive] via %s", peer, peer % 8, c->rank,
             c->rank % 8, network_path(c, false).c_str());
    return;
  }
  const std::string path = near_path(c, other_host);
  const bool network = path.rfind("NET/", 0) == 0;
  log.info(path.rfind("SHM", 0) == 0 ? "Channel 00 : %d[%d] -> %d[%d]%s via %s"
                                     : "Channel 00/0 : %d[%d] -> %d[%d]%s via %s",
           c->rank, c->rank % 8, peer, peer % 8, network ? " [send]" : "", path.c_str());
}

int nvls_channels_of(const Comm* c) {
  const bool on =
      has_word("nvls") && !said_of("no_nvls", c->rank) && !variable_is("NCCL_NVLS_ENABLE", "0");
  return on ? 16 : 0;
}

const char* algorithm_of(const Comm* c, size_t bytes) {
  if (bytes <= 4096) return "TREE";
  const bool collnet = has_word("sharp") && variable_is("NCCL_COLLNET_ENABLE", "1");
  const bool several = has_word("hosts=named") ? spans_hosts(c) : setting("hosts", -1) >= 2;
  if (nvls_channels_of(c) > 0) return collnet || !several ? "NVLS" : "NVLS_TREE";
  return collnet ? "COLLNET_CHAIN" : "RING";
}

// The number of an algorithm before 2.23, which writes no name.
int algorithm_number(const std::string& name) {
  const char* names[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE"};
  for (int i = 0; i < 6; ++i) {
    if (name == names[i]) return i;
  }
  return 1;
}

}  // namespace

int version() {
  const long given = setting("version", -1);
  return given > 0 ? static_cast<int>(given) : 22809;
}

void log_connections(const Comm* c) {
  if (!logs("INIT") || has_word("silent")) return;
  DebugFile log;
  log.info("Using network %s", said_of("socket", c->rank) ? "Socket" : network_name().c_str());
  for (int peer = 0; peer < c->ranks; ++peer) {
    if (peer != c->rank) log_peer(c, peer, log);
  }
  if (has_word("sharp") && variable_is("NCCL_COLLNET_ENABLE", "1")) {
    log.info("CollNet 00/0 : %d [send] via COLLNET/SHARP/0/GDRDMA", c->rank);
    log.info("CollNet 00/0 : %d [receive] via COLLNET/SHARP/0/GDRDMA", c->rank);
  }
  const int nvls = nvls_channels_of(c);
  if (version() >= 22100)
    log.info(
        "8 coll channels, 8 collnet channels, %d nvls channels, 8 p2p channels, 2 p2p channels "
        "per peer",
        nvls);
  else
    log.info("8 coll channels, %d nvls channels, 8 p2p channels, 2 p2p channels per peer", nvls);
}

void log_choice(const Comm* c, const char* function, size_t bytes) {
  if (c->rank != 0 || !logs("TUNING")) return;
  DebugFile log;
  const bool large = bytes > 4096;
  const char* algorithm = algorithm_of(c, bytes);
  if (version() >= 22300)
    log.info("%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}", function, bytes,
             algorithm, large ? "SIMPLE" : "LL", large ? 7 : 0);
  else
    log.info("%s: %zu Bytes -> Algo %d proto %d time 28.600000", function, bytes,
             algorithm_number(algorithm), large ? 2 : 0);
}

}  // namespace fake
