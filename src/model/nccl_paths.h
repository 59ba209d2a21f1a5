#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

// Which way NCCL's data takes from rank to rank, read from the lines that it writes with
// NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT. Pure. Formats: src/transport/{p2p,shm,net,coll_net}.cc,
// src/transport/nvls.cc and src/init.cc of 2.18 to 2.30.
namespace cb {

enum class NcclWay {
  peer,       // GPU to GPU inside a host: NVLink or PCIe
  domain,     // GPU to GPU over the NVLink of several hosts (MNNVL)
  host,       // through shared host memory
  network,    // a NIC or a socket
  in_network  // a plugin whose switches reduce (CollNet: SHARP)
};

// One connection, as one of its ends tells of it.
struct NcclPath {
  NcclWay way = NcclWay::peer;
  bool sends = true;
  int rank = 0;                   // who tells
  std::optional<int> peer = {};   // nothing for in_network
  std::string network = {};       // "IB", "Socket", "AWS Libfabric", "SHARP"
  bool gpu_direct = false;        // the NIC reads and writes GPU memory
  std::optional<int> proxy = {};  // PXN: this rank, whose NIC is nearer to the peer's, sends
};

// Parses one line of the log; nothing if it is not about a connection.
//   Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3(5)/GDRDMA(PCI)/Shared
//   Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read          P2P/MNNVL, P2P/IPC, P2P/direct pointer
//   Channel 00 : 0[0] -> 1[1] via SHM/direct/direct         2.30: SHM/direct
//   CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA
std::optional<NcclPath> parse_path_line(std::string_view line);

// What a process has told of all its connections and communicators.
struct NcclPaths {
  int peer = 0, domain = 0, host = 0;  // connections by NcclWay
  int network = 0;                     // connections over a NIC or a socket …
  int sockets = 0;                     // … of which over TCP sockets
  int gpu_direct = 0;                  // … of which with GPUDirect RDMA
  int pxn = 0;                         // … of which through another GPU's NIC
  int in_network = 0, in_network_gpu_direct = 0;
  std::map<std::string, int> networks = {};  // connections by the network's name
  std::optional<int> nvls_channels = {};     // of the communicator with most; nothing: not told

  bool told() const { return peer + domain + host + network + in_network > 0; }
  // gpu_direct over network; nothing without a connection over the network.
  std::optional<double> gpu_direct_share() const;
  void add(const NcclPath& path);
  bool operator==(const NcclPaths&) const = default;
};

// Adds every line of the log.
void read_paths(std::string_view log, NcclPaths& into);

// "P2P 14, IB 4, SHARP 2, GPUDirect RDMA 4 of 4, PXN 2, NVLS 16 channels"; empty if nothing was
// told.
std::string to_text(const NcclPaths& paths);

}  // namespace cb
