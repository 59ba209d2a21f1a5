// libibumad through a table of functions. Its functions and the header before each datagram are a
// stable interface (user_mad of the Linux kernel, version 5), so no header of it is needed.
#include "sys/net/umad.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "sys/os/dl.h"

namespace cb::umad {
namespace {

constexpr const char* kVariable = "CLUSTERBENCH_UMAD_LIBRARY";
constexpr const char* kDevices = "/dev/infiniband";

// What the kernel puts before a datagram (ib_user_mad_hdr); numbers of the address in network
// order.
struct Envelope {
  uint32_t agent = 0, status = 0, timeout_ms = 0, retries = 0, length = 0;
  uint32_t queue_pair = 0, queue_key = 0;
  uint16_t lid = 0;
  uint8_t service_level = 0, path_bits = 0, has_route = 0, gid_index = 0, hop_limit = 0,
          traffic = 0;
  uint8_t gid[16] = {};
  uint32_t flow_label = 0;
  uint16_t pkey_index = 0;
  uint8_t reserved[6] = {};
  Datagram datagram = {};
};
static_assert(offsetof(Envelope, datagram) == 64);

// By their class, in the order of agents_.
constexpr std::array<uint8_t, 4> kClasses{0x81, 0x01, 0x04, 0x0a};
constexpr uint32_t kManagementQueueKey = 0x80010000;

// libibumad prints a line of its own where the kernel has no such interface, so that is looked at
// first, in the way in which the library does. One that the variable names may need none.
bool lacks_interface() {
  if (std::getenv(kVariable) != nullptr) return false;
  const int file = ::open("/sys/class/infiniband_mad/abi_version", O_RDONLY);
  if (file < 0) return errno == ENOENT;
  ::close(file);
  return false;
}

// Why no port opens, by what the machine shows.
Said why_not_open(const FsRoot& fs, const std::string& device, int number, int code) {
  const std::string port = device.empty() ? ""
                           : number > 0   ? fmt::format("{}/{}", device, number)
                                          : device;
  bool any = false;
  for (const std::string& name : fs.entries(kDevices)) {
    if (!name.starts_with("umad")) continue;
    any = true;
    const std::string path = fmt::format("{}/{}", kDevices, name);
    if (::access(fs.resolve(path).c_str(), R_OK | W_OK) != 0 && errno == EACCES)
      return said("umad.no_right", path);
  }
  if (!any) return said("umad.no_device", kDevices);
  return said("umad.no_port", port.empty() ? "InfiniBand" : port,
              std::strerror(code < 0 ? -code : EIO));
}

}  // namespace

struct Port::Library {
  int (*umad_init)() = nullptr;
  int (*umad_open_port)(const char* device, int number) = nullptr;
  int (*umad_close_port)(int port) = nullptr;
  int (*umad_register)(int port, int management_class, int version, uint8_t rmpp,
                       long* methods) = nullptr;
  int (*umad_send)(int port, int agent, void* envelope, int bytes, int timeout_ms,
                   int retries) = nullptr;
  int (*umad_recv)(int port, void* envelope, int* bytes, int wait_ms) = nullptr;

  static std::shared_ptr<const Library> open() {
    const DynamicLibrary file = DynamicLibrary::open(kVariable, {"libibumad.so.3"});
    if (!file.present()) throw Error(said("umad.no_library", file.why(), kVariable));
    auto out = std::make_shared<Library>();
    const auto bind = [&](auto*& slot, const char* name) {
      slot = file.symbol<std::remove_pointer_t<std::remove_reference_t<decltype(slot)>>>(name);
      if (slot == nullptr) throw Error(said("umad.no_function", file.path(), name));
    };
    bind(out->umad_init, "umad_init");
    bind(out->umad_open_port, "umad_open_port");
    bind(out->umad_close_port, "umad_close_port");
    bind(out->umad_register, "umad_register");
    bind(out->umad_send, "umad_send");
    bind(out->umad_recv, "umad_recv");
    return out;
  }
};

Port::Port(std::shared_ptr<const Library> library, int id)
    : library_(std::move(library)), id_(id) {}

Port::Port(Port&& other) noexcept
    : library_(std::move(other.library_)),
      id_(std::exchange(other.id_, -1)),
      agents_(other.agents_) {}

Port::~Port() {
  if (id_ >= 0) library_->umad_close_port(id_);
}

Port Port::open(const FsRoot& fs, const std::string& device, int number) {
  std::shared_ptr<const Library> library = Library::open();
  if (lacks_interface() || library->umad_init() < 0)
    throw Error(why_not_open(fs, device, number, -ENODEV));
  const int id = library->umad_open_port(device.empty() ? nullptr : device.c_str(), number);
  if (id < 0) throw Error(why_not_open(fs, device, number, id));
  Port out(std::move(library), id);
  for (size_t i = 0; i < kClasses.size(); ++i) {
    out.agents_[i] = out.library_->umad_register(id, kClasses[i], 1, 0, nullptr);
    // The vendor's class is for firmware alone.
    if (out.agents_[i] < 0 && kClasses[i] != 0x0a)
      throw Error(said("umad.no_agent", kClasses[i], std::strerror(-out.agents_[i])));
  }
  return out;
}

int Port::agent_of(uint8_t management_class) const {
  const auto at = std::ranges::find(kClasses, management_class);
  return at == kClasses.end() ? -1 : agents_[static_cast<size_t>(at - kClasses.begin())];
}

void Port::send(const Datagram& datagram, uint16_t lid, int timeout_ms) {
  Envelope envelope;
  envelope.datagram = datagram;
  envelope.lid = lid == 0 ? 0xffff : htons(lid);
  const bool general = lid != 0 && datagram[1] != 0x01;  // else subnet management, queue pair 0
  envelope.queue_pair = htonl(general ? 1 : 0);
  envelope.queue_key = htonl(general ? kManagementQueueKey : 0);
  const int agent = agent_of(datagram[1]);
  const int code = agent < 0
                       ? -ENOSYS
                       : library_->umad_send(id_, agent, &envelope,
                                             static_cast<int>(datagram.size()), timeout_ms, 0);
  if (code < 0) throw Error(said("umad.send", std::strerror(-code)));
}

std::optional<Received> Port::receive(int wait_ms) {
  Envelope envelope;
  int bytes = static_cast<int>(envelope.datagram.size());
  const int code = library_->umad_recv(id_, &envelope, &bytes, wait_ms);
  if (code == -EWOULDBLOCK || code == -ETIMEDOUT || code == -EINTR) return std::nullopt;
  if (code < 0) throw Error(said("umad.receive", std::strerror(-code)));
  return Received{envelope.datagram, envelope.status != 0};
}

}  // namespace cb::umad
