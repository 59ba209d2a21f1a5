// ibdiagnet2.db_csv: the section CABLE_INFO, and the names of devices from NODES.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/csv_fields.h"
#include "core/error.h"
#include "import/modules/module_files.h"
#include "import/output_lines.h"

namespace cb {
namespace {

constexpr int kMostFlaggedLanes = 64;

std::vector<std::string> csv_row(std::string_view line) {
  std::vector<std::string> out = csv_fields(line);
  for (std::string& cell : out) cell = std::string(trimmed(cell));
  return out;
}

// "45C" begins with 45; nothing for N/A.
std::optional<double> number_of_cell(const std::string& cell) {
  double out = 0;
  const auto [rest, code] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
  return code == std::errc{} && std::isfinite(out) ? std::optional(out) : std::nullopt;
}

// The lane that a column of flags is about: 5 of "LowRX5PowerAlarm"; 0 of other columns.
int lane_of_column(std::string_view name) {
  if (!name.ends_with("Alarm") && !name.ends_with("Warning")) return 0;
  for (const std::string_view side : {"High", "Low"}) {
    for (const std::string_view way : {"RX", "TX"}) {
      if (!name.starts_with(side) || !name.substr(side.size()).starts_with(way)) continue;
      const std::string_view rest = name.substr(side.size() + way.size());
      int lane = 0;
      const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), lane);
      return code == std::errc{} ? std::clamp(lane, 0, kMostFlaggedLanes) : 0;
    }
  }
  return 0;
}

class CableInfoReader {
 public:
  explicit CableInfoReader(const std::string& file) : file_(file) {}

  std::vector<FittedModule> read(std::string_view text) {
    for (const OutputLine& line : output_lines(text, "START_")) {
      number_ = line.number;
      take(trimmed(line.text));
    }
    if (!section_.empty()) throw UsageError(file_, "", said("fabric.cut_off"));
    for (auto& [guid, module] : found_) name_owner(guid, module);
    std::vector<FittedModule> out;
    for (auto& [guid, module] : found_) out.push_back(std::move(module));
    return out;
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with("START_")) {
      section_ = std::string(line.substr(6));
      columns_.clear();
    } else if (line.starts_with("END_")) {
      section_.clear();
    } else if (section_ == "NODES" || section_ == "CABLE_INFO") {
      const std::vector<std::string> row = csv_row(line);
      if (columns_.empty())
        head(row);
      else if (section_ == "NODES")
        node(row);
      else
        module(row);
    }
  }

  void head(const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size(); ++i) columns_[row[i]] = i;
    if (section_ != "CABLE_INFO") return;
    for (const std::string& name : row) lanes_ = std::max(lanes_, lane_of_column(name));
    for (const char* name : {"NodeGuid", "PortNum", "PN", "SN"}) {
      if (!columns_.contains(name)) refuse(said("modules.no_column", name));
    }
  }

  [[noreturn]] void refuse(const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", number_), why);
  }

  std::string cell(const std::vector<std::string>& row, const std::string& column) const {
    const auto at = columns_.find(column);
    if (at == columns_.end() || at->second >= row.size()) return "";
    const std::string& out = row[at->second];
    return out == "N/A" || out == "NA" ? "" : out;
  }

  // Absent and N/A raise nothing. What is no flag is refused: it may stand for one that is raised.
  bool on(const std::vector<std::string>& row, const std::string& column) const {
    const std::string value = cell(row, column);
    if (value == "1" || value == "0x1") return true;
    if (!value.empty() && value != "0" && value != "0x0")
      refuse(said("modules.no_flag", column, value));
    return false;
  }

  void node(const std::vector<std::string>& row) {
    const std::string name = cell(row, "NodeDesc");
    names_[cell(row, "NodeGUID")] = {name, cell(row, "NodeType") == "1"};
    guids_[name].insert(cell(row, "NodeGUID"));
  }

  // Rows without a part number are ports without a module.
  void module(const std::vector<std::string>& row) {
    if (row.size() < columns_.size())
      refuse(said("modules.short_row", row.size(), columns_.size()));
    if (cell(row, "PN").empty() && cell(row, "SN").empty()) return;
    OpticalModule o{.kind = cell(row, "IdentifierStr"),
                    .vendor = cell(row, "Vendor"),
                    .part_number = cell(row, "PN"),
                    .revision = cell(row, "Rev"),
                    .serial = cell(row, "SN"),
                    .date = cell(row, "DateCode"),
                    .firmware = cell(row, "FWVersion")};
    o.copper = cell(row, "TypeDesc").find("opper") != std::string::npos;
    o.cmis = is_cmis_kind(o.kind);
    if (!o.copper) {
      o.celsius = number_of_cell(cell(row, "Temperature"));
      add_flags(row, o);
    }
    FittedModule out{.port = cell(row, "PortNum"), .module = std::move(o)};
    found_.emplace_back(cell(row, "NodeGuid"), std::move(out));
  }

  void add_flag(const std::vector<std::string>& row, const std::string& column, const char* what,
                int lane, OpticalModule& out) const {
    const bool alarm = on(row, "High" + column + "Alarm") || on(row, "Low" + column + "Alarm");
    const bool warning =
        on(row, "High" + column + "Warning") || on(row, "Low" + column + "Warning");
    if (alarm || warning) out.flags.push_back({what, lane, alarm});
  }

  void add_flags(const std::vector<std::string>& row, OpticalModule& out) const {
    add_flag(row, "Temperature", "temperature", 0, out);
    add_flag(row, "SupplyVoltage", "supply", 0, out);
    for (int lane = 1; lane <= lanes_; ++lane) {
      add_flag(row, fmt::format("RX{}Power", lane), "rx_power", lane, out);
      add_flag(row, fmt::format("TX{}Power", lane), "tx_power", lane, out);
      add_flag(row, fmt::format("TX{}Bias", lane), "bias", lane, out);
    }
  }

  // An adapter that describes itself as "host nic" is the host's; a switch is its own. Devices of
  // one description (as they leave the factory) go by their GUIDs.
  void name_owner(const std::string& guid, FittedModule& module) const {
    const auto known = names_.find(guid);
    if (known == names_.end() || known->second.first.empty() ||
        guids_.at(known->second.first).size() > 1) {
      module.host = guid;
      module.port = "port " + module.port;
      return;
    }
    const auto& [name, adapter] = known->second;
    const size_t blank = name.find(' ');
    if (!adapter || blank == std::string::npos) {
      module.host = name;
      module.port = "port " + module.port;
      return;
    }
    module.host = name.substr(0, blank);
    module.port = name.substr(blank + 1) + "/" + module.port;
  }

  const std::string& file_;
  size_t number_ = 0;
  std::string section_;
  std::map<std::string, size_t> columns_;
  int lanes_ = 0;                                              // that columns of flags name
  std::map<std::string, std::pair<std::string, bool>> names_;  // by GUID: description, adapter
  std::map<std::string, std::set<std::string>> guids_;         // by description
  std::vector<std::pair<std::string, FittedModule>> found_;    // with the GUID
};

}  // namespace

std::vector<FittedModule> read_cable_info(std::string_view text, const std::string& file) {
  return CableInfoReader(file).read(text);
}

}  // namespace cb
