#include "core/delivery_list.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/csv.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/suggest.h"

namespace cb {
namespace {

struct Synonym {
  std::string_view word;  // in small letters, without blanks, '_' and '-'
  std::string_view means;
};

constexpr std::array kColumns{
    Synonym{"host", "host"},       Synonym{"hostname", "host"},  Synonym{"node", "host"},
    Synonym{"server", "host"},     Synonym{"主机", "host"},      Synonym{"主机名", "host"},
    Synonym{"节点", "host"},       Synonym{"服务器", "host"},    Synonym{"part", "part"},
    Synonym{"type", "part"},       Synonym{"component", "part"}, Synonym{"部件", "part"},
    Synonym{"部件类型", "part"},   Synonym{"类型", "part"},      Synonym{"slot", "slot"},
    Synonym{"position", "slot"},   Synonym{"槽位", "slot"},      Synonym{"位置", "slot"},
    Synonym{"serial", "serial"},   Synonym{"sn", "serial"},      Synonym{"serialnumber", "serial"},
    Synonym{"序列号", "serial"},   Synonym{"型号", "model"},     Synonym{"model", "model"},
    Synonym{"partnumber", "model"}};

constexpr std::array kParts{Synonym{"gpu", "gpu"},        Synonym{"显卡", "gpu"},
                            Synonym{"加速卡", "gpu"},     Synonym{"nic", "nic"},
                            Synonym{"hca", "nic"},        Synonym{"rdma", "nic"},
                            Synonym{"adapter", "nic"},    Synonym{"网卡", "nic"},
                            Synonym{"nvme", "nvme"},      Synonym{"ssd", "nvme"},
                            Synonym{"disk", "nvme"},      Synonym{"drive", "nvme"},
                            Synonym{"硬盘", "nvme"},      Synonym{"固态硬盘", "nvme"},
                            Synonym{"system", "system"},  Synonym{"server", "system"},
                            Synonym{"chassis", "system"}, Synonym{"整机", "system"},
                            Synonym{"服务器", "system"},  Synonym{"module", "module"},
                            Synonym{"optic", "module"},   Synonym{"transceiver", "module"},
                            Synonym{"光模块", "module"}};

std::string folded(const std::string& text) {
  std::string out = in_small_letters(text);
  std::erase_if(out, [](char c) { return c == ' ' || c == '_' || c == '-'; });
  return out;
}

template <size_t N>
std::optional<std::string> meaning(const std::array<Synonym, N>& words, const std::string& text) {
  const std::string key = folded(text);
  const auto found = std::ranges::find(words, key, &Synonym::word);
  return found == words.end() ? std::nullopt : std::optional(std::string(found->means));
}

// What people write so that a spreadsheet leaves the zeros alone: ="0012", '0012.
std::string plain_text(std::string cell) {
  if (cell.size() > 3 && cell.starts_with("=\"") && cell.ends_with('"'))
    return cell.substr(2, cell.size() - 3);
  if (cell.starts_with('\'')) cell.erase(0, 1);
  return cell;
}

// "1.65492E+12": digits, and behind "E+" digits. The rest of the serial number is lost.
bool is_number_of_spreadsheet(const std::string& serial) {
  const size_t mark = std::min(serial.find("E+"), serial.find("e+"));
  if (mark == std::string::npos || mark == 0) return false;
  const auto is_all = [](std::string_view text, std::string_view of) {
    return !text.empty() && text.find_first_not_of(of) == std::string_view::npos;
  };
  const std::string_view text = serial;
  return is_all(text.substr(0, mark), "0123456789.,") &&
         is_all(text.substr(mark + 2), "0123456789");
}

class DeliveryListReader {
 public:
  explicit DeliveryListReader(std::string file) : file_(std::move(file)) {}

  std::vector<Asset> read(const std::vector<CsvRow>& rows) {
    if (rows.size() < 2) throw UsageError(file_, "", said("assets.empty"));
    head(rows.front());
    refuse_longer_rows(rows, file_);
    for (size_t i = 1; i < rows.size(); ++i) row(rows[i]);
    return std::move(assets_);
  }

 private:
  [[noreturn]] void refuse(size_t line, const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", line), why);
  }

  // A model often has its part number beside it: the first of the two counts.
  void head(const CsvRow& row) {
    for (size_t i = 0; i < row.fields.size(); ++i) {
      const auto name = meaning(kColumns, row.fields[i]);
      if (!name) continue;
      const auto [at, fresh] = columns_.try_emplace(*name, i);
      if (!fresh && *name != "model")
        refuse(row.line, said("assets.two_columns", row.fields[at->second], row.fields[i], *name));
    }
    for (const char* name : {"host", "part", "serial"}) {
      if (!columns_.contains(name)) refuse(row.line, said("assets.no_column", name));
    }
  }

  std::string field(const CsvRow& row, const char* name) const {
    const auto at = columns_.find(name);
    return at == columns_.end() || at->second >= row.fields.size() ? "" : row.fields[at->second];
  }

  void row(const CsvRow& row) {
    Asset asset{field(row, "host"), "", plain_text(field(row, "slot")),
                plain_text(field(row, "serial")), plain_text(field(row, "model"))};
    if (asset.host.empty()) refuse(row.line, said("assets.no_host"));
    const std::string part = field(row, "part");
    const auto kind = meaning(kParts, part);
    if (!kind) refuse(row.line, said("assets.part", unknown_name(part, asset_parts())));
    asset.part = *kind;
    if (is_placeholder_serial(asset.serial)) asset.serial.clear();
    if (is_number_of_spreadsheet(asset.serial))
      refuse(row.line, said("assets.spreadsheet", asset.serial));
    if (!asset.serial.empty()) {
      const auto [at, fresh] =
          seen_.try_emplace({asset.part, in_small_letters(asset.serial)}, row.line);
      if (!fresh) refuse(row.line, said("assets.twice", asset.serial, at->second));
    }
    assets_.push_back(std::move(asset));
  }

  std::string file_;
  std::map<std::string, size_t> columns_;
  std::map<std::pair<std::string, std::string>, size_t> seen_;
  std::vector<Asset> assets_;
};

}  // namespace

const std::vector<std::string>& asset_parts() {
  static const std::vector<std::string> kKinds{"gpu", "nic", "nvme", "system", "module"};
  return kKinds;
}

std::vector<Asset> read_delivery_list(const std::string& csv, const std::string& file) {
  return DeliveryListReader(file).read(read_csv(csv, file));
}

bool is_placeholder_serial(const std::string& serial) {
  // SMBIOS tables of Supermicro, ASUS, QEMU and others, where the field was left as it was.
  constexpr std::array<std::string_view, 11> kPlaceholders{
      "",        "none",    "n/a", "notspecified", "defaultstring",     "systemserialnumber",
      "unknown", "invalid", "na",  "notavailable", "tobefilledbyo.e.m."};
  const std::string key = folded(serial);
  return std::ranges::find(kPlaceholders, key) != kPlaceholders.end() ||
         key.find_first_not_of('0') == std::string::npos;
}

}  // namespace cb
