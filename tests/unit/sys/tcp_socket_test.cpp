// What a socket says of its connection, and loss on purpose, over this machine's loopback.
#include "sys/net/tcp_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include "core/error.h"

using namespace cb;

namespace {

struct Connection {
  Listener listener = listen_at("127.0.0.1", 4, 0);
  Socket sender = connect_to("127.0.0.1", listener.port, "", 20, 0);
  Socket receiver = accepted();

  Socket accepted() const {
    pollfd waiting{listener.socket.fd(), POLLIN, 0};
    REQUIRE(poll(&waiting, 1, 20000) == 1);
    return Socket(accept(listener.socket.fd(), nullptr, nullptr));
  }
  bool arrives(int milliseconds) const {
    pollfd waiting{receiver.fd(), POLLIN, 0};
    return poll(&waiting, 1, milliseconds) == 1;
  }
};

}  // namespace

TEST_CASE("what a socket loses on purpose comes again once that has ended, and was counted") {
  Connection c;
  REQUIRE(send(c.sender.fd(), "a", 1, 0) == 1);
  REQUIRE(c.arrives(20000));
  char byte = 0;
  REQUIRE(recv(c.receiver.fd(), &byte, 1, 0) == 1);
  const auto before = tcp_state(c.sender.fd());
  REQUIRE(before.has_value());
  REQUIRE(before->bytes.has_value());  // since Linux 4.19
  CHECK(before->bytes->sent == 1);
  CHECK(before->bytes->sent_again == 0);
  // Only if this system is set to ask for ECN (1); to agree to it (2) is the default.
  CHECK(before->echoes.has_value() == (FsRoot().integer("/proc/sys/net/ipv4/tcp_ecn") == 1));

  lose_arriving(c.receiver.fd(), 1);
  REQUIRE(send(c.sender.fd(), "b", 1, 0) == 1);
  CHECK_FALSE(c.arrives(300));
  lose_arriving(c.receiver.fd(), 0);
  lose_arriving(c.receiver.fd(), 0);  // again: nothing to end
  REQUIRE(c.arrives(20000));
  REQUIRE(recv(c.receiver.fd(), &byte, 1, 0) == 1);
  CHECK(byte == 'b');
  const auto after = tcp_state(c.sender.fd());
  REQUIRE(after->bytes.has_value());
  CHECK(after->bytes->sent_again >= 1);
  CHECK(after->bytes->sent == 2 + after->bytes->sent_again);
  CHECK(after->retransmits >= 1);
}

TEST_CASE("a lost share is refused by what is no socket") {
  CHECK_THROWS_WITH_AS(lose_arriving(-1, 0.5), doctest::Contains("SO_ATTACH_FILTER"), Error);
}
