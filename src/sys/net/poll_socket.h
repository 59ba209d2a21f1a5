#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sys/net/socket_handle.h"

// TCP sockets that never block, for the side channel of the ranks. IPv4 and IPv6.
namespace cb {

// Accepts the next waiting connection. Returns a closed socket, with errno set, if there is none.
Socket accept_waiting(const Socket& listener);

// Starts to connect to a numeric address. Returns a closed socket if that fails at once. The socket
// is writable once it is connected or has failed: connected() says which.
Socket start_connect(const std::string& address, uint16_t port);
bool connected(const Socket& socket);

// Returns the numeric addresses of all interfaces that are up, IPv4 first, without loopback and
// link-local ones. If `interface` is not empty, returns only its addresses, and throws UsageError
// if it has none.
std::vector<std::string> local_addresses(std::string_view interface);

// Reads or writes what is possible now. Returns the bytes moved, 0 if none could be moved, −1 at
// the end of the connection or on an error.
long read_some(const Socket& socket, char* to, size_t size);
long write_some(const Socket& socket, std::string_view bytes);

// Waits until one of the descriptors is readable (or writable if `want_write`), or until the time
// is over.
struct Watched {
  int fd = -1;
  bool want_write = false;
  bool readable = false;  // set by wait_for_any(); true also at the end of the connection
  bool writable = false;
};
void wait_for_any(std::vector<Watched>& sockets, double seconds);

// Raises this process's limit of open files to at least `count`, if the system allows that.
void allow_open_files(uint64_t count);

}  // namespace cb
