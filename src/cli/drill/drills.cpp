#include "cli/drill/drills.h"

#include <algorithm>

namespace cb {

const std::vector<Drill>& all_drills() {
  using enum DrillAction;
  static const std::vector<Drill> drills{
      {"stop-rank", stop, "a rank of a running all_reduce gets SIGSTOP",
       "the watchdog ends the job and names the host"},
      {"kill-rank", kill, "a rank of a running all_reduce gets SIGKILL",
       "the job ends and names the host"},
      {"slow-link", slow, "an interface is limited to --rate by tc tbf",
       "locate names the host as a suspect", true, "the interface"},
      {"cut-link", cut, "an interface is set down for --hold seconds",
       "the job ends and names the host", true, "the interface"},
      {"fill-disk", fill, "a file system of at most 64 GiB is filled",
       "io fails, names the host, and leaves nothing behind", true,
       "a directory on a small file system of its own"},
      {"fake-xid", xid, "the stand-in of NVML reports Xid 79 of GPU 0",
       "burn fails the GPU and names the host", true,
       "the file that the stand-in reads, named clusterbench-drill-… (xid_file of its script)"},
      {"pull-optic", manual, "a person pulls an optic or a cable",
       "the job ends and names the host, or locate does", true, "what is pulled"},
      {"power-feed", manual, "a person takes one of two power feeds away",
       "nothing ends: the other feed carries the load", true, "which feed"},
  };
  return drills;
}

const Drill* find_drill(std::string_view id) {
  const auto found = std::ranges::find(all_drills(), id, &Drill::id);
  return found == all_drills().end() ? nullptr : &*found;
}

std::vector<std::string> drill_ids() {
  std::vector<std::string> out;
  for (const Drill& d : all_drills()) out.push_back(d.id);
  return out;
}

}  // namespace cb
