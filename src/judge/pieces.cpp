#include "judge/pieces.h"

#include <set>

#include "core/delivery_list.h"

namespace cb {
namespace {

bool is_flag_set(const Part& part, const char* name) {
  const auto found = part.attributes.find(name);
  return found != part.attributes.end() && found->second == Attribute(true);
}

std::string piece_kind(const Part& part) {
  if (part.kind == "rdma") return "nic";
  if (part.kind == "nic") return is_flag_set(part, "virtual") ? "" : "nic";
  const bool counts =
      part.kind == "gpu" || part.kind == "nvme" || part.kind == "system" || part.kind == "module";
  return counts ? part.kind : "";
}

Piece piece_of(const HostInventory& host, const Part& part, std::string kind) {
  Piece out{.host = host.host, .kind = std::move(kind), .id = part.id, .part = &part};
  out.slot = text_of(&part, "pci_address").value_or(part.id);
  out.serial = text_of(&part, "serial").value_or("");
  if (is_placeholder_serial(out.serial)) out.serial.clear();
  if (!out.serial.empty()) return out;
  const auto reason = part.unavailable.find("serial");
  out.why = reason == part.unavailable.end() ? said("assets.untold") : reason->second;
  return out;
}

}  // namespace

std::vector<Piece> pieces_of(std::span<const HostInventory> hosts) {
  std::vector<Piece> out;
  for (const HostInventory& host : hosts) {
    std::set<std::string> adapters;  // serial numbers, and slots of those without
    for (const Part& part : host.parts) {
      const std::string kind = piece_kind(part);
      if (kind.empty()) continue;
      Piece piece = piece_of(host, part, kind);
      if (kind == "nic") {
        if (piece.serial.empty() && !part.unavailable.contains("serial")) continue;
        if (!adapters.insert(piece.serial.empty() ? piece.slot : piece.serial).second) continue;
      }
      out.push_back(std::move(piece));
    }
  }
  return out;
}

std::vector<std::string> models_of(const Piece& piece) {
  std::vector<std::string> out;
  for (const char* name :
       {"model", "product", "part_number", "board_part_number", "hca_type", "board_id"}) {
    if (const auto text = text_of(piece.part, name)) out.push_back(*text);
  }
  return out;
}

}  // namespace cb
