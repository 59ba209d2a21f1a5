// Texts of infiniband-diags besides ibnetdiscover's: iblinkinfo, ibqueryerrors, dump_fts.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "model/fabric/net_builder.h"
#include "model/fabric/readers.h"

namespace cb {
namespace {

// The text between the first quotes from `from` on; blanks around it are iblinkinfo's.
std::string quoted_name(std::string_view line, size_t from) {
  const size_t begin = line.find('"', from);
  const size_t end = begin == std::string_view::npos ? begin : line.find('"', begin + 1);
  if (end == std::string_view::npos) return "";
  const std::string_view text = line.substr(begin + 1, end - begin - 1);
  const size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : std::string(text.substr(first));
}

// "4X" and "53.125" make 4xHDR.
std::optional<LinkRate> rate_of(const std::string& width, const std::string& gigabits) {
  const auto speed = parse_number(gigabits);
  const std::string lanes = width.substr(0, width.size() - 1);
  for (unsigned bit = 0; bit < kLaneSpeeds; ++bit) {
    const auto rate = parse_link_rate(fmt::format("{}x{}", lanes, lane_speed(bit)));
    if (rate && (gigabits == lane_speed(bit) ||
                 (speed && std::abs(rate->lane_bits_per_second - *speed * 1e9) < 1e7)))
      return rate;
  }
  return std::nullopt;
}

int state_of(const std::string& word) {
  constexpr std::array<const char*, 5> kStates{"", "Down", "Init", "Armed", "Active"};
  const auto at = std::ranges::find(kStates, word);
  return at == kStates.end() ? 0 : static_cast<int>(at - kStates.begin());
}

// `==( 4X  53.125 Gbps Active/  LinkUp)==>`: what stands between the brackets.
struct LinkState {
  std::string width, gigabits;
  int state = 0;
  bool up = false;
};
LinkState link_state(std::string_view text) {
  LinkState out;
  std::string flat(text);
  std::ranges::replace(flat, '/', ' ');
  const std::vector<std::string> words = words_of_line(flat);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() > 1 && words[i].ends_with('X') &&
        parse_integer(words[i].substr(0, words[i].size() - 1)))
      out.width = words[i];
    if (i + 1 < words.size() && words[i + 1] == "Gbps") out.gigabits = words[i];
    if (words[i].starts_with("FDR10")) out.gigabits = "FDR10";
    if (const int state = state_of(words[i])) out.state = state;
    if (words[i] == "LinkUp") out.up = true;
  }
  return out;
}

// "(Could be 4X Could be 53.125 Gbps)": nothing said is what runs. More than four lanes are what no
// cable carries: see best_rate().
std::optional<LinkRate> possible(std::string_view text, const LinkState& is) {
  std::string width = is.width, gigabits = is.gigabits;
  const std::vector<std::string> words = words_of_line(text);
  for (const std::string& raw : words) {
    const std::string word = raw.substr(0, raw.find(')'));
    if (word.ends_with('X')) width = word == "8X" || word == "12X" ? "4X" : word;
    if (parse_number(word)) gigabits = word;
  }
  if (is.width == "8X" || is.width == "12X") width = is.width;
  return width.empty() ? std::nullopt : rate_of(width, gigabits);
}

class LinkInfoReader {
 public:
  explicit LinkInfoReader(const std::string& file) : file_(file) {}

  Net read(std::string_view text) {
    each_line(text, [&](std::string_view line, size_t number) {
      if (line.find("==(") != std::string_view::npos)
        port(line, number);
      else
        section(line);
    });
    if (out_.net.nodes.empty()) throw UsageError(file_, "", said("fabric.no_node"));
    for (const auto& [from, far] : far_) {
      const auto to = place(far);
      if (to) out_.tell(from, *to, far.rate, far.could);
    }
    put_lids();
    out_.net.adapters_by_port = true;
    out_.net.knows.ports = true;
    return out_.finish();
  }

 private:
  struct Far {
    int lid = 0, port = 0;
    std::string name;
    std::optional<LinkRate> rate, could;
  };

  // `Switch: 0x… name:` or `CA: name:`; adapters are known by the GUIDs of their ports.
  void section(std::string_view line) {
    const bool is_switch = line.starts_with("Switch:");
    if (!is_switch && !line.starts_with("CA:") && !line.starts_with("RT:")) return;
    std::string name(line.substr(line.find(':') + 1));
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    if (name.ends_with(':')) name.pop_back();
    section_ = 0;
    if (is_switch) {
      section_ = parse_hex(name.substr(0, name.find(' '))).value_or(0);
      name = name.find(' ') == std::string::npos ? "" : name.substr(name.find(' ') + 1);
    }
    kind_ = is_switch                 ? NetNodeKind::network_switch
            : line.starts_with("CA:") ? NetNodeKind::adapter
                                      : NetNodeKind::router;
    name_ = name;
  }

  void port(std::string_view line, size_t number) {
    const size_t arrow = line.find("==("), end = line.find(")==>", arrow);
    if (end == std::string_view::npos) refuse_line(file_, number, said("fabric.bad_link_line"));
    std::vector<std::string> own = words_of_line(line.substr(0, arrow));
    uint64_t guid = section_, port_guid = 0;
    std::string name = name_;
    NetNodeKind kind = kind_;
    if (!own.empty() && own.front().starts_with("0x")) {
      guid = parse_hex(own.front()).value_or(0);
      if (line.find('"') < arrow) {  // one line tells all of a port: -l
        name = quoted_name(line, 0);
        own = words_of_line(line.substr(line.find('"', line.find('"') + 1) + 1));
        kind = NetNodeKind::adapter;  // until a second port with this GUID shows a switch
        if (const auto known = out_.find(guid)) {
          kind = NetNodeKind::network_switch;
          out_.net.nodes[*known].kind = kind;
          out_.net.nodes[*known].id.front() = 'S';
        }
      } else {
        own.erase(own.begin());
        port_guid = guid;
        // The ports of one adapter stand in one section.
        if (section_ == 0) section_ = guid;
        guid = section_;
      }
    }
    if (own.size() < 2) refuse_line(file_, number, said("fabric.bad_link_line"));
    const int64_t lid = parse_integer(own[0]).value_or(-1);
    const int64_t at = parse_integer(own[1].substr(0, own[1].find('['))).value_or(-1);
    if (guid == 0 || lid < 0 || at < 0 || at > 254)
      refuse_line(file_, number, said("fabric.bad_link_line"));
    const size_t node = out_.node(guid, kind, name);
    const NetEnd here{node, static_cast<int>(at)};
    NetNode& self = out_.net.nodes[node];
    self.ports = std::max(self.ports, here.port);
    const LinkState state = link_state(line.substr(arrow + 3, end - arrow - 3));
    NetPort& port = out_.net.ports[here];
    port.state = state.state;
    port.physical = state.up ? 5 : 0;
    port.guid = port_guid != 0 ? port_guid : guid;
    if (lid > 0) lids_[static_cast<int>(lid)].push_back(here);
    names_[name].push_back(here);
    if (state.up) far_.emplace_back(here, far_end(line, end + 4, state));
  }

  static Far far_end(std::string_view line, size_t from, const LinkState& state) {
    Far out;
    const size_t quote = std::min(line.find('"', from), line.size());
    std::vector<std::string> words = words_of_line(line.substr(from, quote - from));
    if (!words.empty() && words.front().starts_with("0x")) words.erase(words.begin());
    if (words.size() >= 2) {
      out.lid = static_cast<int>(parse_integer(words[0]).value_or(0));
      out.port =
          static_cast<int>(parse_integer(words[1].substr(0, words[1].find('['))).value_or(0));
    }
    out.name = quoted_name(line, from);
    if (!state.width.empty()) out.rate = rate_of(state.width, state.gigabits);
    const size_t close = line.find('"', quote + 1);
    const size_t could = close == std::string_view::npos ? close : line.find('(', close);
    if (could != std::string_view::npos) out.could = possible(line.substr(could + 1), state);
    return out;
  }

  std::optional<NetEnd> place(const Far& far) const {
    for (const auto* candidates : {lids_.contains(far.lid) ? &lids_.at(far.lid) : nullptr,
                                   names_.contains(far.name) ? &names_.at(far.name) : nullptr}) {
      if (candidates == nullptr) continue;
      for (const NetEnd& end : *candidates) {
        if (end.port == far.port) return end;
      }
    }
    return std::nullopt;
  }

  // Of a switch all ports have its LID.
  void put_lids() {
    for (const auto& [lid, ends] : lids_) {
      for (const NetEnd& end : ends) {
        const bool is_switch = out_.net.nodes[end.node].kind == NetNodeKind::network_switch;
        out_.net.lids[is_switch ? NetEnd{end.node, 0} : end] = lid;
      }
    }
  }

  const std::string& file_;
  NetBuilder out_;
  uint64_t section_ = 0;
  NetNodeKind kind_ = NetNodeKind::adapter;
  std::string name_;
  std::map<int, std::vector<NetEnd>> lids_;
  std::map<std::string, std::vector<NetEnd>> names_;
  std::vector<std::pair<NetEnd, Far>> far_;
};

}  // namespace

Net read_iblinkinfo(std::string_view text, const std::string& file) {
  return LinkInfoReader(file).read(text);
}

Net read_ibqueryerrors(std::string_view text, const std::string& file) {
  NetBuilder out;
  std::string name;
  std::optional<NetEnd> end;
  bool whole = false;
  each_line(text, [&](std::string_view line, size_t number) {
    if (line.starts_with("## Summary:")) whole = true;
    if (line.starts_with("Errors for ")) {
      name = quoted_name(line, 0);
      end.reset();
    }
    const size_t guid_at = line.find("GUID 0x");
    if (guid_at != std::string_view::npos && line.find(" port ") != std::string_view::npos) {
      const std::vector<std::string> words = words_of_line(line.substr(guid_at));
      end.reset();
      if (words.size() < 4) refuse_line(file, number, said("fabric.bad_error_line"));
      const uint64_t guid = parse_hex(words[1]).value_or(0);
      const std::string port = words[3].substr(0, words[3].find(':'));
      if (port == "ALL") return;  // the sum of the others
      const int64_t at = parse_integer(port).value_or(-1);
      if (guid == 0 || at < 0 || at > 254) refuse_line(file, number, said("fabric.bad_error_line"));
      const size_t node = out.node(guid, NetNodeKind::adapter, name);
      end = NetEnd{node, static_cast<int>(at)};
      // Each port of an adapter has a GUID of its own; a switch has one for all.
      out.net.ports[*end].guid = guid;
    }
    for (size_t at = line.find('['); end && at != std::string_view::npos;
         at = line.find('[', at + 1)) {
      const size_t close = line.find(']', at), equal = line.find(" == ", at);
      if (close == std::string_view::npos || equal == std::string_view::npos || equal > close)
        continue;
      std::string value(line.substr(equal + 4, close - equal - 4));
      const auto count = parse_integer(value.substr(0, value.find(' ')));
      if (count && *count >= 0)
        out.net.ports[*end].counts[std::string(line.substr(at + 1, equal - at - 1))] =
            static_cast<uint64_t>(*count);
    }
  });
  if (!whole) throw UsageError(file, "", said("fabric.cut_off"));
  out.net.adapters_by_port = true;
  out.net.knows.counters = true;
  return out.finish();
}

Net read_forwarding(std::string_view text, const std::string& file) {
  NetBuilder out;
  std::optional<size_t> node;
  each_line(text, [&](std::string_view line, size_t number) {
    if (line.starts_with("Unicast lids")) {
      const size_t at = line.find(" guid ");
      const std::vector<std::string> words = at == std::string_view::npos
                                                 ? std::vector<std::string>{}
                                                 : words_of_line(line.substr(at + 6));
      const uint64_t guid = words.empty() ? 0 : parse_hex(words.front()).value_or(0);
      if (guid == 0) refuse_line(file, number, said("fabric.bad_table_line"));
      const size_t begin = line.find('(', at), end = line.rfind(')');
      const std::string name = begin < end && end != std::string_view::npos
                                   ? std::string(line.substr(begin + 1, end - begin - 1))
                                   : "";
      node = out.node(guid, NetNodeKind::network_switch, name);
      out.net.nodes[*node].forwards.assign(1, 255);
      return;
    }
    if (line.starts_with("Multicast")) node.reset();
    if (!node || !line.starts_with("0x")) return;
    const std::vector<std::string> words = words_of_line(line);
    const uint64_t lid = parse_hex(words[0]).value_or(0xffff);
    // OpenSM writes words where there is no port.
    const int64_t port = words.size() > 1 ? parse_integer(words[1]).value_or(255) : 255;
    if (lid > 0xbfff || port < 0 || port > 255)
      refuse_line(file, number, said("fabric.bad_table_line"));
    std::vector<uint8_t>& table = out.net.nodes[*node].forwards;
    if (table.size() <= lid) table.resize(lid + 1, 255);
    table[lid] = static_cast<uint8_t>(port);
  });
  if (out.net.nodes.empty()) throw UsageError(file, "", said("fabric.no_node"));
  out.net.knows.tables = true;
  return out.finish();
}

}  // namespace cb
