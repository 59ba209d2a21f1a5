#include "sys/storage/signatures.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <blkid/blkid.h>
#include <fmt/format.h>

#include "core/error.h"

namespace cb {
namespace {

struct FreeProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using Probe = std::unique_ptr<std::remove_pointer_t<blkid_probe>, FreeProbe>;

std::string value(blkid_probe probe, const char* name) {
  const char* text = nullptr;
  size_t length = 0;
  if (blkid_probe_lookup_value(probe, name, &text, &length) != 0) return "";
  return text;
}

}  // namespace

std::vector<Signature> signatures(int fd, const std::string& path) {
  const auto fail = [&] {
    throw Error(fmt::format("{} cannot be searched for signatures of data: {}", path,
                            std::strerror(errno)));
  };
  const Probe probe(blkid_new_probe());
  if (!probe || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) fail();
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE);
  blkid_probe_enable_partitions(probe.get(), 1);
  std::vector<Signature> out;
  // Each call continues after the last find; the "safe" probe would give up if it found two.
  int rc = 0;
  while ((rc = blkid_do_probe(probe.get())) == 0) {
    if (const std::string type = value(probe.get(), "TYPE"); !type.empty())
      out.push_back({type, value(probe.get(), "USAGE")});
    if (const std::string type = value(probe.get(), "PTTYPE"); !type.empty())
      out.push_back({type, "partition table"});
  }
  if (rc < 0) fail();
  return out;
}

}  // namespace cb
