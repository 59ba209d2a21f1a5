// Preloaded, it lets `ethtool -m` read the pages of a module over netlink from a file: questions
// for pages (ETHTOOL_MSG_MODULE_EEPROM_GET) never reach the kernel, all others do. $MODULE_PAGES
// names a file of blocks, each of bank, page, 0 and 0 as bytes and 128 bytes of memory; the lower
// memory is page 255. A page that is not there is refused.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { block_bytes = 132, lower = 255, head = NLMSG_HDRLEN + GENL_HDRLEN };

static unsigned char answer[1024];
static size_t answer_bytes;

static const struct nlattr* find(const unsigned char* message, unsigned length, unsigned wanted) {
  for (unsigned at = head; at + sizeof(struct nlattr) <= length;) {
    const struct nlattr* one = (const struct nlattr*)(message + at);
    if (one->nla_len < sizeof *one) return NULL;
    if ((one->nla_type & NLA_TYPE_MASK) == wanted) return one;
    at += NLA_ALIGN(one->nla_len);
  }
  return NULL;
}

static unsigned number(const unsigned char* message, unsigned length, unsigned wanted) {
  const struct nlattr* one = find(message, length, wanted);
  unsigned out = 0;
  if (one != NULL)
    memcpy(&out, one + 1,
           one->nla_len - sizeof *one < sizeof out ? one->nla_len - sizeof *one : sizeof out);
  return out;
}

// 0 unless the file has them.
static int read_page(unsigned bank, unsigned page, unsigned char* bytes) {
  unsigned char block[block_bytes];
  const int fd = open(getenv("MODULE_PAGES"), O_RDONLY);
  int found = 0;
  while (!found && read(fd, block, sizeof block) == sizeof block) {
    found = block[0] == bank && block[1] == page;
    if (found) memcpy(bytes, block + 4, 128);
  }
  close(fd);
  return found;
}

static void add_end(const struct nlmsghdr* asked, int error) {
  struct nlmsghdr* end = (struct nlmsghdr*)(answer + answer_bytes);
  const struct nlmsgerr what = {.error = error, .msg = *asked};
  *end = (struct nlmsghdr){.nlmsg_len = NLMSG_LENGTH(sizeof what),
                           .nlmsg_type = NLMSG_ERROR,
                           .nlmsg_seq = asked->nlmsg_seq};
  memcpy(NLMSG_DATA(end), &what, sizeof what);
  answer_bytes += NLMSG_ALIGN(end->nlmsg_len);
}

// True if the message was a question for a page.
static int answers(const void* message, size_t size) {
  const struct nlmsghdr* asked = message;
  if (size < head || asked->nlmsg_type <= GENL_ID_CTRL) return 0;
  if (((const struct genlmsghdr*)NLMSG_DATA(asked))->cmd != ETHTOOL_MSG_MODULE_EEPROM_GET) return 0;
  const unsigned length = asked->nlmsg_len;
  const unsigned offset = number(message, length, ETHTOOL_A_MODULE_EEPROM_OFFSET);
  const unsigned count = number(message, length, ETHTOOL_A_MODULE_EEPROM_LENGTH);
  const unsigned page = number(message, length, ETHTOOL_A_MODULE_EEPROM_PAGE);
  const unsigned bank = number(message, length, ETHTOOL_A_MODULE_EEPROM_BANK);
  unsigned char bytes[256] = {0};
  const int there = offset + count <= sizeof bytes &&
                    (offset >= 128 || read_page(0, lower, bytes)) &&
                    (offset + count <= 128 || read_page(bank, page, bytes + 128));
  answer_bytes = 0;
  if (there) {
    struct nlmsghdr* reply = (struct nlmsghdr*)answer;
    struct nlattr* data = (struct nlattr*)(answer + head);
    *reply = (struct nlmsghdr){.nlmsg_type = asked->nlmsg_type, .nlmsg_seq = asked->nlmsg_seq};
    *(struct genlmsghdr*)NLMSG_DATA(reply) =
        (struct genlmsghdr){.cmd = ETHTOOL_MSG_MODULE_EEPROM_GET_REPLY, .version = 1};
    *data = (struct nlattr){.nla_len = (unsigned short)(sizeof *data + count),
                            .nla_type = ETHTOOL_A_MODULE_EEPROM_DATA};
    memcpy(data + 1, bytes + offset, count);
    reply->nlmsg_len = head + data->nla_len;
    answer_bytes = NLMSG_ALIGN(reply->nlmsg_len);
  }
  add_end(asked, there ? 0 : -EINVAL);
  return 1;
}

ssize_t sendto(int fd, const void* message, size_t size, int flags, const struct sockaddr* to,
               socklen_t length) {
  if (answers(message, size)) return (ssize_t)size;
  ssize_t (*real)(int, const void*, size_t, int, const struct sockaddr*, socklen_t) =
      dlsym(RTLD_NEXT, "sendto");
  return real(fd, message, size, flags, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  if (message->msg_iovlen == 1 && answers(message->msg_iov->iov_base, message->msg_iov->iov_len))
    return (ssize_t)message->msg_iov->iov_len;
  ssize_t (*real)(int, const struct msghdr*, int) = dlsym(RTLD_NEXT, "sendmsg");
  return real(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  if (answer_bytes == 0 || message->msg_iov->iov_len < answer_bytes) {
    ssize_t (*real)(int, struct msghdr*, int) = dlsym(RTLD_NEXT, "recvmsg");
    return real(fd, message, flags);
  }
  if (message->msg_name != NULL) {
    memset(message->msg_name, 0, message->msg_namelen);
    ((struct sockaddr_nl*)message->msg_name)->nl_family = AF_NETLINK;
  }
  memcpy(message->msg_iov->iov_base, answer, answer_bytes);
  message->msg_flags = 0;
  const ssize_t out = (ssize_t)answer_bytes;
  if (!(flags & MSG_PEEK)) answer_bytes = 0;
  return flags & MSG_TRUNC ? out : out;
}
