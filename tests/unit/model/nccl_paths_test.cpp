// Lines as each version of NCCL writes them, from the INFO() calls of src/transport/*.cc and
// src/init.cc at the tags v2.18.6-1 to v2.30.7-1.
#include "model/nccl_paths.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

const std::string kBefore = "node01:4242:4300 [0] NCCL INFO ";

NcclPath path_of(const std::string& text) {
  const auto path = parse_path_line(kBefore + text);
  REQUIRE_MESSAGE(path.has_value(), text);
  return *path;
}

}  // namespace

TEST_CASE("a connection over the network: who tells, GPUDirect, PXN") {
  const NcclPath send = path_of("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3/GDRDMA");
  CHECK(send.way == NcclWay::network);
  CHECK(send.sends);
  CHECK(send.rank == 0);
  CHECK(send.peer == 8);
  CHECK(send.network == "IB");
  CHECK(send.gpu_direct);
  CHECK_FALSE(send.proxy);
  const NcclPath receive =
      path_of("Channel 12/0 : 8[0] -> 0[0] [receive] via NET/IB/3/GDRDMA/Shared");
  CHECK_FALSE(receive.sends);
  CHECK(receive.rank == 0);
  CHECK(receive.peer == 8);
  CHECK(receive.gpu_direct);
  // 2.26 and newer say which kind of GPUDirect.
  CHECK(path_of("Channel 00/0 : 1[1] -> 9[1] [send] via NET/IB/3(5)/GDRDMA(PCI)/Shared").proxy ==
        5);
  CHECK(path_of("Channel 00/0 : 1[1] -> 9[1] [send] via NET/IB/3(5)/GDRDMA(PCI)").gpu_direct);
  const NcclPath socket = path_of("Channel 00/0 : 1[1] -> 9[1] [send] via NET/Socket/0");
  CHECK(socket.network == "Socket");
  CHECK_FALSE(socket.gpu_direct);
  CHECK(path_of("Channel 00/0 : 1[1] -> 9[1] [send] via NET/AWS Libfabric/2/GDRDMA").network ==
        "AWS Libfabric");
  // 2.8 to 2.17 had the bus id in the brackets.
  CHECK(path_of("Channel 00/0 : 0[1b000] -> 8[1b000] [send] via NET/IBext/0/GDRDMA").network ==
        "IBext");
}

TEST_CASE("connections inside a host, inside a domain and through the network's switches") {
  for (const char* way : {"P2P/CUMEM", "P2P/CUMEM/read", "P2P/IPC", "P2P/IPC/read/CE",
                          "P2P/direct pointer", "P2P/indirect/3[3]"}) {
    const NcclPath p = path_of(std::string("Channel 00/1 : 2[2] -> 3[3] via ") + way);
    CHECK(p.way == NcclWay::peer);
    CHECK(p.rank == 2);
    CHECK(p.peer == 3);
  }
  CHECK(path_of("Channel 00/0 : 3[3] -> 4[0] via P2P/MNNVL").way == NcclWay::domain);
  CHECK(path_of("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct").way == NcclWay::host);
  CHECK(path_of("Channel 00 : 0[0] -> 1[1] via SHM/direct").way == NcclWay::host);
  const NcclPath up = path_of("CollNet 00/0 : 7 [send] via COLLNET/SHARP/1/GDRDMA");
  CHECK(up.way == NcclWay::in_network);
  CHECK(up.rank == 7);
  CHECK(up.network == "SHARP");
  CHECK(up.gpu_direct);
  CHECK_FALSE(up.peer);
  CHECK_FALSE(path_of("CollNet 00/0 : 7 [receive] via COLLNET/SHARP/1").sends);
}

TEST_CASE("other lines, and lines that were cut off, are no connection") {
  for (const char* line :
       {"Using network IB", "Channel 00/04 :    0   1   2   3", "Connected all rings",
        "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB", "Channel 00/0 : 0[0] -> 8[0] [send] via ",
        "Channel 00/0 : 0[0] -> 8", "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3(5",
        "Channel 00/0 : -1[0] -> 8[0] via P2P/IPC", "CollNet 00/0 : 7 via COLLNET/SHARP/1",
        "CollNet 00/0 : [send] via COLLNET/SHARP/1", "Trees [0] 1/-1/-1->0->-1", ""})
    CHECK_MESSAGE(!parse_path_line(kBefore + line), line);
}

TEST_CASE("what a process told of all its connections") {
  NcclPaths p;
  CHECK_FALSE(p.told());
  CHECK_FALSE(p.gpu_direct_share());
  CHECK(to_text(p).empty());
  read_paths(kBefore + "Using network IB\n" + kBefore +
                 "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n" + kBefore +
                 "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n" + kBefore +
                 "Channel 01/0 : 0[0] -> 9[1] [send] via NET/IB/1(1)/GDRDMA\n" + kBefore +
                 "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0\n" + kBefore +
                 "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA\n" + kBefore +
                 "16 coll channels, 16 collnet channels, 8 nvls channels, 32 p2p channels, 4 p2p "
                 "channels per peer\n",
             p);
  CHECK(p.peer == 1);
  CHECK(p.network == 3);
  CHECK(p.sockets == 0);
  CHECK(p.gpu_direct == 2);
  CHECK(p.pxn == 1);
  CHECK(p.in_network == 1);
  CHECK(p.in_network_gpu_direct == 1);
  CHECK(p.nvls_channels == 8);
  CHECK(p.gpu_direct_share() == doctest::Approx(2.0 / 3));
  CHECK(to_text(p) == "P2P 1, IB 3, SHARP 1, GPUDirect RDMA 2 of 3, PXN 1, NVLS 8 channels");
  // 2.18 to 2.20 do not tell the channels of CollNet.
  read_paths(kBefore + "16 coll channels, 24 nvls channels, 32 p2p channels\n" + kBefore +
                 "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n",
             p);
  CHECK(p.nvls_channels == 24);
  CHECK(p.sockets == 1);
  CHECK(p.gpu_direct_share() == 0.5);
}
