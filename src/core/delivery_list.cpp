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

constexpr std::array kParts{
    Synonym{"gpu", "gpu"},       Synonym{"显卡", "gpu"},       Synonym{"加速卡", "gpu"},
    Synonym{"nic", "nic"},       Synonym{"hca", "nic"},        Synonym{"rdma", "nic"},
    Synonym{"adapter", "nic"},   Synonym{"网卡", "nic"},       Synonym{"nvme", "nvme"},
    Synonym{"ssd", "nvme"},      Synonym{"disk", "nvme"},      Synonym{"drive", "nvme"},
    Synonym{"硬盘", "nvme"},     Synonym{"固态硬盘", "nvme"},  Synonym{"system", "system"},
    Synonym{"server", "system"}, Synonym{"chassis", "system"}, Synonym{"整机", "system"},
    Synonym{"服务器", "system"}};

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

class DeliveryListReader {
 public:
  explicit DeliveryListReader(std::string file) : file_(std::move(file)) {}

  std::vector<Asset> read(const std::vector<CsvRow>& rows) {
    if (rows.size() < 2) throw UsageError(file_, "", said("assets.empty"));
    head(rows.front());
    for (size_t i = 1; i < rows.size(); ++i) row(rows[i]);
    return std::move(assets_);
  }

 private:
  [[noreturn]] void refuse(size_t line, const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", line), why);
  }

  void head(const CsvRow& row) {
    for (size_t i = 0; i < row.fields.size(); ++i) {
      if (const auto name = meaning(kColumns, row.fields[i])) columns_.try_emplace(*name, i);
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
    Asset asset{field(row, "host"), "", field(row, "slot"), field(row, "serial"),
                field(row, "model")};
    if (asset.host.empty()) refuse(row.line, said("assets.no_host"));
    const std::string part = field(row, "part");
    const auto kind = meaning(kParts, part);
    if (!kind) refuse(row.line, said("assets.part", unknown_name(part, asset_parts())));
    asset.part = *kind;
    if (is_placeholder_serial(asset.serial)) asset.serial.clear();
    if (!asset.serial.empty()) {
      const auto [at, fresh] = seen_.try_emplace({asset.part, asset.serial}, row.line);
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
  static const std::vector<std::string> kKinds{"gpu", "nic", "nvme", "system"};
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
