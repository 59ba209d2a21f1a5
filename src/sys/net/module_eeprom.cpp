#include "sys/net/module_eeprom.h"

#include <algorithm>
#include <cstring>

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "core/error.h"
#include "sys/net/netlink.h"

namespace cb {
namespace {

constexpr unsigned char kModuleAddress = 0x50;  // on the module's bus

template <typename T>
std::string number_attribute(unsigned short type, T value) {
  return netlink::attribute(type, {reinterpret_cast<const char*>(&value), sizeof value});
}

// The first attribute of that type behind `skip` bytes; empty if there is none.
std::string_view attribute_in(std::string_view bytes, size_t skip, unsigned type) {
  if (bytes.size() < skip) return {};
  bytes.remove_prefix(skip);
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > bytes.size()) return {};
    if ((head.nla_type & NLA_TYPE_MASK) == type)
      return bytes.substr(sizeof head, head.nla_len - sizeof head);
    bytes.remove_prefix(std::min<size_t>(NLA_ALIGN(head.nla_len), bytes.size()));
  }
  return {};
}

constexpr size_t kHeads = sizeof(nlmsghdr) + sizeof(genlmsghdr);

std::string generic_message(unsigned char command, const std::string& attributes) {
  genlmsghdr head{};
  head.cmd = command;
  head.version = 1;
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + attributes;
}

int ethtool_family() {
  const std::string answer = netlink::ask_generic(
      GENL_ID_CTRL,
      generic_message(CTRL_CMD_GETFAMILY,
                      netlink::attribute(CTRL_ATTR_FAMILY_NAME, std::string_view("ethtool\0", 8))));
  const std::string_view id = attribute_in(answer, kHeads, CTRL_ATTR_FAMILY_ID);
  uint16_t out = 0;
  if (id.size() < sizeof out) throw Error(said("netlink.failed", "ethtool"));
  std::memcpy(&out, id.data(), sizeof out);
  return out;
}

std::string header_of(unsigned short type, const std::string& interface, uint32_t flags) {
  std::string inner = netlink::attribute(ETHTOOL_A_HEADER_DEV_NAME,
                                         std::string_view(interface.c_str(), interface.size() + 1));
  if (flags != 0) inner += number_attribute(ETHTOOL_A_HEADER_FLAGS, flags);
  return netlink::attribute(static_cast<unsigned short>(type | NLA_F_NESTED), inner);
}

// The total is the first of the numbers.
std::optional<uint64_t> total_of(std::string_view nest, unsigned type) {
  const std::string_view numbers = attribute_in(nest, 0, type);
  uint64_t out = 0;
  if (numbers.size() < sizeof out) return std::nullopt;
  std::memcpy(&out, numbers.data(), sizeof out);
  return out;
}

}  // namespace

std::string read_module_bytes(const std::string& interface, int bank, int page, unsigned offset,
                              unsigned length) {
  const std::string attributes =
      header_of(ETHTOOL_A_MODULE_EEPROM_HEADER, interface, 0) +
      number_attribute(ETHTOOL_A_MODULE_EEPROM_OFFSET, static_cast<uint32_t>(offset)) +
      number_attribute(ETHTOOL_A_MODULE_EEPROM_LENGTH, static_cast<uint32_t>(length)) +
      number_attribute(ETHTOOL_A_MODULE_EEPROM_PAGE, static_cast<uint8_t>(page)) +
      number_attribute(ETHTOOL_A_MODULE_EEPROM_BANK, static_cast<uint8_t>(bank)) +
      number_attribute(ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, kModuleAddress);
  const std::string answer = netlink::ask_generic(
      ethtool_family(), generic_message(ETHTOOL_MSG_MODULE_EEPROM_GET, attributes));
  return std::string(attribute_in(answer, kHeads, ETHTOOL_A_MODULE_EEPROM_DATA));
}

FecCounts read_fec_counts(const std::string& interface) {
  const std::string answer = netlink::ask_generic(
      ethtool_family(),
      generic_message(ETHTOOL_MSG_FEC_GET,
                      header_of(ETHTOOL_A_FEC_HEADER, interface, ETHTOOL_FLAG_STATS)));
  const std::string_view stats = attribute_in(answer, kHeads, ETHTOOL_A_FEC_STATS);
  return {.corrected_blocks = total_of(stats, ETHTOOL_A_FEC_STAT_CORRECTED),
          .uncorrectable_blocks = total_of(stats, ETHTOOL_A_FEC_STAT_UNCORR),
          .corrected_bits = total_of(stats, ETHTOOL_A_FEC_STAT_CORR_BITS)};
}

}  // namespace cb
