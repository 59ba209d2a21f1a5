#include "bench/network/subnet/umad_wire.h"

#include "core/units.h"
#include "sys/net/umad.h"

namespace cb::net {
namespace {

class UmadWire : public MadWire {
 public:
  explicit UmadWire(umad::Port port) : port_(std::move(port)) {}
  void send(const MadQuestion& question, const Mad& mad, int timeout_ms) override {
    port_.send(mad, question.of == MadClass::directed ? uint16_t{0} : question.lid, timeout_ms);
  }
  std::optional<MadArrival> receive(int wait_ms) override {
    const auto got = port_.receive(wait_ms);
    if (!got) return std::nullopt;
    return MadArrival{got->datagram, got->timed_out};
  }

 private:
  umad::Port port_;
};

}  // namespace

std::unique_ptr<MadWire> open_umad_wire(const FsRoot& fs, const std::string& port) {
  const size_t slash = port.find('/');
  const auto number =
      slash == std::string::npos ? std::nullopt : parse_integer(port.substr(slash + 1));
  return std::make_unique<UmadWire>(
      umad::Port::open(fs, port.substr(0, slash), static_cast<int>(number.value_or(0))));
}

}  // namespace cb::net
