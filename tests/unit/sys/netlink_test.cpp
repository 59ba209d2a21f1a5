// The kernel's own answers, and frames of neighbours in a network namespace of our own.
#include "sys/net/netlink.h"

#include <doctest/doctest.h>

#include <cstring>

#include <arpa/inet.h>
#include <linux/dcbnl.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "sys/inventory/vpd.h"
#include "sys/net/lldp_listener.h"

using namespace cb;

namespace {

constexpr int kNoNamespace = 77;

bool bring_up(const char* interface) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return up;
}

// Sends one frame of LLDP on the loopback interface.
bool send_frame(const std::string& payload) {
  const int fd = ::socket(AF_PACKET, SOCK_DGRAM, 0);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(0x88cc);
  to.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
  to.sll_halen = 6;
  const unsigned char address[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
  std::memcpy(to.sll_addr, address, sizeof address);
  const bool sent = ::sendto(fd, payload.data(), payload.size(), 0,
                             reinterpret_cast<const sockaddr*>(&to), sizeof to) > 0;
  ::close(fd);
  return sent;
}

// In a child with a namespace of its own: a second process sends while the first one listens.
int hear_in_namespace() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return kNoNamespace;
  if (!bring_up("lo")) return kNoNamespace;
  // Chassis, port and time to live, of 0 and of 120 seconds.
  const std::string who = "\x02\x02\x07q\x04\x02\x07r";
  const std::string goodbye = who + std::string("\x06\x02\x00\x00", 4);
  const std::string stays = who + std::string("\x06\x02\x00\x78", 4);
  const pid_t sender = ::fork();
  if (sender == 0) {
    for (int i = 0; i < 40; ++i) {
      send_frame(goodbye);
      ::usleep(50'000);
      send_frame(stays);
      ::usleep(50'000);
    }
    ::_exit(0);
  }
  const HeardFrames heard = hear_lldp({"lo", "none"}, 5);
  int status = 0;
  ::waitpid(sender, &status, 0);
  const auto frame = heard.payload.find("lo");
  if (frame == heard.payload.end()) return 1;
  if (frame->second != stays) return 2;  // the goodbye before it ended nothing
  return heard.why_not.contains("none") ? 0 : 3;
}

}  // namespace

TEST_CASE("a frame is heard in a namespace, and an interface that is not there says so") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(hear_in_namespace());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace)
    MESSAGE("skipped: no user namespace here");
  else
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("nobody is heard where nobody speaks, within the time") {
  const HeardFrames heard = hear_lldp({"lo"}, 0.05);
  CHECK(heard.payload.empty());
}

TEST_CASE("the kernel lists its routing rules, and refuses what an interface lacks in words") {
  rtmsg head{};
  head.rtm_family = AF_INET;
  const std::string rules =
      netlink::ask(RTM_GETRULE, {reinterpret_cast<const char*>(&head), sizeof head}, true);
  CHECK(rules.size() >= 3 * (sizeof(nlmsghdr) + sizeof(rtmsg)));  // local, main, default
  dcbmsg dcb{};
  dcb.cmd = DCB_CMD_IEEE_GET;
  std::string body(reinterpret_cast<const char*>(&dcb), sizeof dcb);
  body += netlink::attribute(DCB_ATTR_IFNAME, std::string_view("lo\0", 3));
  CHECK_THROWS_WITH_AS(netlink::ask(RTM_GETDCB, body, false),
                       doctest::Contains("the kernel answers"), Error);
}

TEST_CASE("vital product data, whole, damaged and cut off") {
  const auto with_length = [](const std::string& head, const std::string& body) {
    return head + static_cast<char>(body.size() & 255) + static_cast<char>(body.size() >> 8) + body;
  };
  const std::string keywords = std::string("PN\x0b") + "MCX75310AAS" + "SN\x0c" + "MT2342X00001" +
                               std::string("RV\x01\x55", 4);
  const std::string data =
      with_length("\x82", "ConnectX-7 adapter ") + with_length("\x90", keywords) + "\x78";
  const inventory::VitalProductData whole = inventory::parse_vpd(data);
  CHECK(whole.product == "ConnectX-7 adapter");
  CHECK(whole.part_number == "MCX75310AAS");
  CHECK(whole.serial == "MT2342X00001");
  CHECK(inventory::parse_vpd("").serial.empty());
  CHECK(inventory::parse_vpd(std::string(64, '\xff')).serial.empty());
  for (size_t cut = 0; cut < data.size(); ++cut) inventory::parse_vpd(data.substr(0, cut));
}
