#include "sys/cpu/cpu_times.h"

#include <array>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

namespace cb {
namespace {

double user_seconds(int who) {
  rusage usage{};
  if (::getrusage(who, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

}  // namespace

std::optional<CpuTimes> read_cpu_times(const FsRoot& fs) {
  const auto text = fs.text("/proc/stat");
  if (!text) return std::nullopt;
  std::istringstream line(*text);
  std::string name;
  // user nice system idle iowait irq softirq steal; user already includes guest time.
  std::array<double, 8> ticks{};
  line >> name;
  for (double& t : ticks) line >> t;
  const long hertz = ::sysconf(_SC_CLK_TCK);
  if (!line || name != "cpu" || hertz <= 0) return std::nullopt;
  CpuTimes out;
  for (const double t : ticks) out.capacity += t / static_cast<double>(hertz);
  out.user = (ticks[0] + ticks[1] + ticks[7]) / static_cast<double>(hertz);
  return out;
}

double own_user_seconds() { return user_seconds(RUSAGE_SELF) + user_seconds(RUSAGE_CHILDREN); }

}  // namespace cb
