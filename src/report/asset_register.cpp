#include "report/asset_register.h"

#include <fmt/format.h>

#include "judge/pieces.h"
#include "report/csv.h"

namespace cb {

std::string render_asset_register(std::span<const HostInventory> hosts) {
  std::string out = "host,part,slot,serial,model,firmware,uuid\r\n";
  for (const Piece& piece : pieces_of(hosts)) {
    const std::vector<std::string> models = models_of(piece);
    const auto cell = [&](const char* name) {
      return csv_cell(text_of(piece.part, name).value_or(""));
    };
    out +=
        fmt::format("{},{},{},{},{},{},{}\r\n", csv_cell(piece.host), piece.kind,
                    csv_cell(piece.slot), csv_cell(piece.serial),
                    csv_cell(models.empty() ? "" : models.front()), cell("firmware"), cell("uuid"));
  }
  return out;
}

}  // namespace cb
