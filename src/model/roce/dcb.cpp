#include "model/roce/dcb.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "model/roce/attributes.h"

namespace cb {
namespace {

// Linux's rtnetlink.h and dcbnl.h. The newest of these constants are younger than some headers.
constexpr unsigned kGetDcb = 78, kNewRule = 32;
constexpr size_t kMessageHead = 16, kDcbHead = 4, kRuleHead = 12;
constexpr unsigned kIeee = 13;                                           // of a DCB message
constexpr unsigned kEts = 1, kPfc = 2, kAppTable = 3, kTrustTable = 11;  // inside of it
constexpr size_t kEtsBytes = 59, kEtsBandwidth = 3, kEtsAlgorithm = 19, kEtsClass = 27;
constexpr unsigned kRuleSource = 2, kRuleTable = 15;

int octet(std::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }

void read_ets(std::string_view ets, Dcb& out) {
  if (ets.size() < kEtsBytes) return;
  std::array<int, kPriorities> classes{};
  for (size_t i = 0; i < kPriorities; ++i) {
    out.bandwidth[i] = octet(ets, kEtsBandwidth + i);
    out.algorithm[i] = octet(ets, kEtsAlgorithm + i);
    classes[i] = octet(ets, kEtsClass + i);
    if (classes[i] >= kPriorities) return;
  }
  out.class_of_priority = classes;
}

// struct dcb_app: selector, priority, protocol.
void read_app(std::string_view app, Dcb& out) {
  if (app.size() < 4) return;
  out.rules.push_back(
      {octet(app, 0), octet(app, 1), static_cast<int>(AttributeWalk::word(app, 2))});
}

uint32_t big_endian(std::string_view bytes, size_t at, size_t count) {
  uint32_t out = 0;
  for (size_t i = 0; i < count; ++i) out = out << 8 | static_cast<uint32_t>(octet(bytes, at + i));
  return out;
}

// "00:11:22:33:44:55", or the text itself, by the subtype of a chassis or port.
std::string lldp_id(std::string_view value, bool address) {
  if (!address) return terminal_safe(value.substr(0, value.find('\0')));
  std::string out;
  for (size_t i = 0; i < value.size(); ++i)
    out += fmt::format("{}{:02x}", i == 0 ? "" : ":", octet(value, i));
  return out;
}

// Organisations' parts: 802.1 (ETS 9, PFC 11, rules 12) and 802.3 (largest frame 4).
void read_organisation(std::string_view value, LldpNeighbour& out) {
  if (value.size() < 4) return;
  const uint32_t organisation = big_endian(value, 0, 3);
  const int subtype = octet(value, 3);
  const std::string_view body = value.substr(4);
  if (organisation == 0x00120f && subtype == 4 && body.size() >= 2) {
    const auto frame = static_cast<int>(big_endian(body, 0, 2));
    if (frame > 0) out.frame_bytes = frame;  // 0: the switch does not say
  }
  if (organisation != 0x0080c2) return;
  if (subtype == 11 && body.size() >= 2) out.dcb.pfc = static_cast<unsigned>(octet(body, 1));
  if (subtype == 12) {
    for (size_t at = 1; at + 3 <= body.size(); at += 3)
      out.dcb.rules.push_back({octet(body, at) & 7, octet(body, at) >> 5,
                               static_cast<int>(big_endian(body, at + 1, 2))});
  }
}

}  // namespace

std::optional<int> Dcb::priority_of(int dscp) const {
  std::optional<int> out;
  for (const DcbRule& rule : rules) {
    if (rule.selector == kDscpSelector && rule.value == dscp)
      out = std::max(out.value_or(0), rule.priority);  // the kernel takes the highest
  }
  return out;
}

std::optional<Dcb> decode_dcb(std::string_view message) {
  if (message.size() < kMessageHead + kDcbHead) return std::nullopt;
  const size_t length = std::min<size_t>(AttributeWalk::long_word(message, 0), message.size());
  if (length < kMessageHead + kDcbHead || AttributeWalk::word(message, 4) != kGetDcb)
    return std::nullopt;
  const auto ieee = AttributeWalk::find(
      message.substr(kMessageHead + kDcbHead, length - kMessageHead - kDcbHead), kIeee);
  if (!ieee) return std::nullopt;
  Dcb out;
  if (const auto ets = AttributeWalk::find(*ieee, kEts)) read_ets(*ets, out);
  const auto pfc = AttributeWalk::find(*ieee, kPfc);
  if (pfc && pfc->size() >= 2) out.pfc = static_cast<unsigned>(octet(*pfc, 1));
  if (const auto table = AttributeWalk::find(*ieee, kAppTable)) {
    AttributeWalk apps(*table);
    for (auto app = apps.next(); app; app = apps.next()) read_app(app->value, out);
  }
  if (const auto table = AttributeWalk::find(*ieee, kTrustTable)) {
    AttributeWalk selectors(*table);
    for (auto one = selectors.next(); one; one = selectors.next()) {
      if (!one->value.empty()) out.trusted.push_back(octet(one->value, 0));
    }
  }
  return out;
}

std::vector<SourceRule> decode_rules(std::string_view messages) {
  std::vector<SourceRule> out;
  while (messages.size() >= kMessageHead) {
    const size_t length = AttributeWalk::long_word(messages, 0);
    if (length < kMessageHead || length > messages.size()) break;
    const std::string_view body = messages.substr(kMessageHead, length - kMessageHead);
    if (AttributeWalk::word(messages, 4) == kNewRule && body.size() >= kRuleHead) {
      SourceRule rule{.bits = octet(body, 2), .table = static_cast<uint32_t>(octet(body, 4))};
      const std::string_view attributes = body.substr(kRuleHead);
      const auto source = AttributeWalk::find(attributes, kRuleSource);
      if (source && source->size() == 4) rule.address = big_endian(*source, 0, 4);
      const auto table = AttributeWalk::find(attributes, kRuleTable);
      if (table && table->size() == 4) rule.table = AttributeWalk::long_word(*table, 0);
      out.push_back(rule);
    }
    messages.remove_prefix(std::min((length + 3) / 4 * 4, messages.size()));
  }
  return out;
}

std::optional<LldpNeighbour> decode_lldp(std::string_view payload) {
  constexpr int kEnd = 0, kChassis = 1, kPort = 2, kTtl = 3, kPortText = 4, kName = 5, kOrg = 127;
  LldpNeighbour out;
  bool lasts = false;
  while (payload.size() >= 2) {
    const uint32_t head = big_endian(payload, 0, 2);
    const int type = static_cast<int>(head >> 9);
    const size_t length = head & 0x1ff;
    if (type == kEnd) break;
    if (2 + length > payload.size()) return std::nullopt;
    const std::string_view value = payload.substr(2, length);
    if (type == kChassis && length > 1)
      out.chassis = lldp_id(value.substr(1), octet(value, 0) == 4);
    if (type == kPort && length > 1) out.port = lldp_id(value.substr(1), octet(value, 0) == 3);
    if (type == kTtl && length >= 2) lasts = big_endian(value, 0, 2) > 0;
    if (type == kPortText) out.description = lldp_id(value, false);
    if (type == kName) out.name = lldp_id(value, false);
    if (type == kOrg) read_organisation(value, out);
    payload.remove_prefix(2 + length);
  }
  if (out.chassis.empty() || out.port.empty() || !lasts) return std::nullopt;
  return out;
}

}  // namespace cb
