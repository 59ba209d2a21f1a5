#pragma once

#include <string>
#include <vector>

#include "core/profile_expect.h"

namespace cb {

// The kinds of piece that a delivery list can name: gpu, nic, nvme, system, module (an optical
// module in a port, which the case `optics` reads).
const std::vector<std::string>& asset_parts();

// Reads a delivery list: CSV with the columns host, part, serial and, if known, slot and model, in
// any order, under English or Chinese names; further columns are passed over. "SSD", "HCA", "网卡"
// … are understood. Throws UsageError with the line for a list without pieces, a missing column, a
// row without host, an unknown part, two columns of one meaning, a row longer than the heading, and
// a serial number that stands twice or that a spreadsheet has made a number of ("1.65E+12").
std::vector<Asset> read_delivery_list(const std::string& csv, const std::string& file);

// True for what firmware says where nobody has written a serial number: "Not Specified", "0" …
bool is_placeholder_serial(const std::string& serial);

}  // namespace cb
