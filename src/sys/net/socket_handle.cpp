#include "sys/net/socket_handle.h"

#include <unistd.h>

namespace cb {

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace cb
