// Preloaded, it lets `ethtool -m` read a module from a file: the netlink socket is refused, and the older ioctl
// answers with the bytes of $MODULE_BYTES as a module of the kind $MODULE_TYPE (ETH_MODULE_SFF_8636 is 3).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int socket(int domain, int type, int protocol) {
  int (*real)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  if (domain != AF_NETLINK) return real(domain, type, protocol);
  errno = EPROTONOSUPPORT;
  return -1;
}

static long read_bytes(unsigned char* bytes, size_t most) {
  const int fd = open(getenv("MODULE_BYTES"), O_RDONLY);
  const long length = read(fd, bytes, most);
  close(fd);
  return length;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  struct ifreq* port = va_arg(list, struct ifreq*);
  va_end(list);
  if (request != SIOCETHTOOL) {
    int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    return real(fd, request, port);
  }
  unsigned char bytes[4096];
  const long length = read_bytes(bytes, sizeof bytes);
  const unsigned command = *(const unsigned*)port->ifr_data;
  if (command == ETHTOOL_GMODULEINFO) {
    struct ethtool_modinfo* info = (struct ethtool_modinfo*)port->ifr_data;
    info->type = (unsigned)atoi(getenv("MODULE_TYPE"));
    info->eeprom_len = (unsigned)length;
    return 0;
  }
  struct ethtool_eeprom* part = (struct ethtool_eeprom*)port->ifr_data;
  if (command == ETHTOOL_GMODULEEEPROM && part->offset + part->len <= (unsigned)length) {
    memcpy(part->data, bytes + part->offset, part->len);
    return 0;
  }
  errno = EOPNOTSUPP;
  return -1;
}
