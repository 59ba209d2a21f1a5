#include "core/ssh_agent.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/clock.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/ssh_wire.h"

namespace cb {
namespace {

constexpr char kSignRequest = 13;
constexpr char kSignResponse = 14;
constexpr std::string_view kAlgorithm = "ssh-ed25519";
constexpr size_t kAgentSignatureBytes = 64;
constexpr uint32_t kMaxAnswer = 4096;
constexpr size_t kMaxMessage = 255 << 10;  // OpenSSH's agent accepts requests of 256 KiB
constexpr double kPatience = 60;           // seconds

// Asks one question and reads the answer, within a deadline.
class Agent {
 public:
  explicit Agent(const std::string& file) : file_(file), end_(monotonic_seconds() + kPatience) {
    const char* place = std::getenv("SSH_AUTH_SOCK");
    if (place == nullptr || *place == '\0')
      fail(
          "is a public key, and no agent has its private half (SSH_AUTH_SOCK is not set): name "
          "the private key, or start ssh-agent and add it with ssh-add");
    place_ = place;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (place_.size() >= sizeof address.sun_path) fail("has an agent whose path is too long");
    std::memcpy(address.sun_path, place_.data(), place_.size());
    socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.open() ||
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      lost(std::strerror(errno));
  }

  std::string ask(const std::string& request) {
    std::string framed;
    append_ssh_text(framed, request);
    send_all(framed);
    const auto size = SshReader(receive(4)).number();
    if (!size || *size == 0 || *size > kMaxAnswer) lost("it gave no answer of its protocol");
    return receive(*size);
  }

  [[noreturn]] void fail(const std::string& what) const { throw UsageError(file_, "", what); }

 private:
  [[noreturn]] void lost(const std::string& why) const {
    fail(fmt::format("needs the agent at {} (SSH_AUTH_SOCK): {}; ssh-add -l must list the key",
                     place_, why));
  }

  void wait(short event) const {
    for (;;) {
      const double left = end_ - monotonic_seconds();
      pollfd watched{socket_.get(), event, 0};
      const int ready = left <= 0 ? 0 : ::poll(&watched, 1, static_cast<int>(left * 1000) + 1);
      if (ready > 0) return;
      if (ready == 0) lost(fmt::format("it did not answer within {:g} seconds", kPatience));
      if (errno != EINTR) lost(std::strerror(errno));
    }
  }

  void send_all(std::string_view bytes) {
    while (!bytes.empty()) {
      wait(POLLOUT);
      const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0)
        bytes.remove_prefix(static_cast<size_t>(n));
      else if (errno != EAGAIN && errno != EINTR)
        lost(std::strerror(errno));
    }
  }

  std::string receive(size_t size) {
    std::string out(size, '\0');
    for (size_t got = 0; got < size;) {
      wait(POLLIN);
      const ssize_t n = ::recv(socket_.get(), out.data() + got, size - got, 0);
      if (n > 0)
        got += static_cast<size_t>(n);
      else if (n == 0)
        lost("it closed the connection");
      else if (errno != EAGAIN && errno != EINTR)
        lost(std::strerror(errno));
    }
    return out;
  }

  std::string file_;
  double end_;
  std::string place_;
  Descriptor socket_;
};

std::string sign_request(const std::vector<unsigned char>& key, std::string_view message) {
  std::string blob;
  append_ssh_text(blob, kAlgorithm);
  append_ssh_text(blob, {reinterpret_cast<const char*>(key.data()), key.size()});
  std::string out(1, kSignRequest);
  append_ssh_text(out, blob);
  append_ssh_text(out, message);
  append_ssh_number(out, 0);  // no flags: Ed25519 has none
  return out;
}

}  // namespace

std::string ssh_agent_sign(const std::vector<unsigned char>& key, std::string_view message,
                           const std::string& file) {
  Agent agent(file);
  if (message.size() > kMaxMessage)
    agent.fail(
        fmt::format("cannot sign this by the agent: {} bytes are signed, and agents take {}; "
                    "next: sign with a private key file",
                    message.size(), kMaxMessage));
  const std::string answer = agent.ask(sign_request(key, message));
  if (answer.front() != kSignResponse)
    agent.fail(
        "is not signed with by the agent (SSH_AUTH_SOCK): it does not hold this key, or "
        "was told not to sign; ssh-add -l lists what it holds");
  SshReader whole(std::string_view(answer).substr(1));
  SshReader parts(whole.text().value_or(""));
  const auto algorithm = parts.text();
  const auto signature = parts.text();
  if (algorithm != kAlgorithm || !signature || signature->size() != kAgentSignatureBytes)
    agent.fail("was answered by the agent with something that is no Ed25519 signature");
  return std::string(*signature);
}

}  // namespace cb
