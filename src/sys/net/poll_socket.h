#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sys/net/socket_handle.h"

// TCP sockets that never block, as the side channel of the ranks needs them. IPv4 and IPv6.
namespace cb {

// The next connection that waits; not open, with errno set, if there is none.
Socket accept_waiting(const Socket& listener);

// Starts to connect to a numeric address; not open if that fails at once. Writable once connected
// or failed: connected() tells which.
Socket start_connect(const std::string& address, uint16_t port);
bool connected(const Socket& socket);

// Numeric addresses of the interfaces that are up, IPv4 first, without loopback and link-local
// ones; only those of `interface` unless that is empty. Throws UsageError if there is no interface
// of that name with an address.
std::vector<std::string> local_addresses(std::string_view interface);

// Reads or writes what is possible now. Bytes moved, 0 if none could be; −1 at the end of the
// connection.
long read_some(const Socket& socket, char* to, size_t size);
long write_some(const Socket& socket, std::string_view bytes);

// True once one of the descriptors is readable (or writable where `want_write`), or after the time.
struct Watched {
  int fd = -1;
  bool want_write = false;
  bool readable = false;  // set by wait_for_any(); also at the end of the connection
  bool writable = false;
};
void wait_for_any(std::vector<Watched>& sockets, double seconds);

// Raises this process's limit of open files to at least `count` where the system allows that.
void allow_open_files(uint64_t count);

}  // namespace cb
