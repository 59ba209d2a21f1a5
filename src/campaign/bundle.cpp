// The archive of a campaign: POSIX ustar (IEEE Std 1003.1-1988), written by hand because the same
// files must give the same bytes whoever packs them, and forty lines need no library for that.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "campaign/files.h"
#include "campaign/load.h"
#include "campaign/signoff.h"
#include "core/clock.h"
#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512;
constexpr size_t kNameBytes = 100;
constexpr size_t kPrefixBytes = 155;

using Header = std::array<char, kBlock>;

void put(Header& header, size_t at, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

// A long path is split at a '/' into prefix and name.
void put_name(Header& header, const std::string& name) {
  if (name.size() <= kNameBytes) return put(header, 0, name);
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (slash > kPrefixBytes || name.size() - slash - 1 > kNameBytes) continue;
    put(header, 0, std::string_view(name).substr(slash + 1));
    return put(header, 345, std::string_view(name).substr(0, slash));
  }
  throw Error(fmt::format("{} has a name too long for an archive", name));
}

Header header_of(const std::string& name, size_t size, int64_t time) {
  Header out{};
  put_name(out, name);
  put(out, 100, "0000644");
  put(out, 108, "0000000");
  put(out, 116, "0000000");
  put(out, 124, fmt::format("{:011o}", size));
  put(out, 136, fmt::format("{:011o}", time));
  put(out, 148, "        ");
  out[156] = '0';
  put(out, 257, std::string_view("ustar\0" "00", 8));
  unsigned sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  put(out, 148, fmt::format("{:06o}", sum));
  out[154] = '\0';
  return out;
}

}  // namespace

void bundle_campaign(const fs::path& directory, const fs::path& archive) {
  const Campaign campaign = load_campaign(directory);
  const int64_t time = std::max<int64_t>(0, seconds_since_epoch(campaign.started).value_or(0));
  std::error_code ignored;
  const fs::path own = fs::weakly_canonical(archive, ignored);
  std::string out;
  for (const std::string& file : campaign_files(directory)) {
    if (fs::weakly_canonical(directory / file, ignored) == own) continue;
    const std::string content = read_file(directory / file);
    const Header header = header_of("campaign-" + campaign.id + "/" + file, content.size(), time);
    out.append(header.data(), header.size());
    out += content;
    out.append((kBlock - content.size() % kBlock) % kBlock, '\0');
  }
  out.append(2 * kBlock, '\0');
  write_file_atomically(archive, out);
}

}  // namespace cb
