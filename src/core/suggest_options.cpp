// Other tools' names for our options, so that their users find ours. A letter means another thing
// in each tool: it counts only if the case has an option that only that tool's kind of measurement
// has.
#include <algorithm>
#include <array>

#include "core/suggest.h"

namespace cb {
namespace {

struct Alias {
  std::string_view theirs, ours;
  std::string_view beside = {};  // the alias counts only if this option is known too
};

constexpr std::string_view kCollectives = "--reduction", kVerbs = "--qps", kTcp = "--streams",
                           kIo = "--queue-depth";

// Sources: fio 3.33 (HOWTO), nccl-tests 2.13 (README), perftest 4.5 (man ib_write_bw), iperf3 3.12
// (man).
constexpr std::array kAliases{
    Alias{"--bs", "--block-size"},
    Alias{"--blocksize", "--block-size"},
    Alias{"--iodepth", "--queue-depth"},
    Alias{"--numjobs", "--threads"},
    Alias{"--runtime", "--duration"},
    Alias{"--ramp_time", "--warm-up"},
    Alias{"--filename", "--file"},
    Alias{"--directory", "--dir"},
    Alias{"--readwrite", "--rw"},
    Alias{"--rwmixread", "--rwmix"},
    Alias{"--ioengine", "--engine", kIo},
    Alias{"--randseed", "--seed"},
    Alias{"--nrfiles", "--files"},
    Alias{"--filesize", "--size", kIo},
    Alias{"--rate_iops", "--rate"},
    Alias{"--random_distribution", "--distribution"},
    Alias{"--hipri", "--poll"},
    Alias{"--cpus_allowed", "--pin"},
    Alias{"--minbytes", "--min-size"},
    Alias{"--maxbytes", "--max-size"},
    Alias{"--stepbytes", "--step-bytes"},
    Alias{"--stepfactor", "--step-factor"},
    Alias{"--ngpus", "--gpus"},
    Alias{"--datatype", "--dtype"},
    Alias{"--iters", "--iterations"},
    Alias{"--agg_iters", "--calls"},
    Alias{"--warmup_iters", "--warm-up"},
    Alias{"--check", "--checks"},
    Alias{"--cudagraph", "--graph"},
    Alias{"--local_register", "--register"},
    Alias{"-b", "--min-size", kCollectives},
    Alias{"-e", "--max-size", kCollectives},
    Alias{"-f", "--step-factor", kCollectives},
    Alias{"-i", "--step-bytes", kCollectives},
    Alias{"-g", "--gpus", kCollectives},
    Alias{"-n", "--iterations", kCollectives},
    Alias{"-m", "--calls", kCollectives},
    Alias{"-c", "--checks", kCollectives},
    Alias{"-o", "--reduction", kCollectives},
    Alias{"-d", "--dtype", kCollectives},
    Alias{"-G", "--graph", kCollectives},
    Alias{"-R", "--register", kCollectives},
    Alias{"--qp", "--qps"},
    Alias{"--ib-dev", "--rails", kVerbs},
    Alias{"--bidirectional", "--direction", kVerbs},
    Alias{"--connection", "--service", kVerbs},
    Alias{"--use_cuda", "--gpu"},
    Alias{"--inline_size", "--inline"},
    Alias{"--cq-mod", "--cq-moderation"},
    Alias{"--post_list", "--post-list"},
    Alias{"--outs", "--outstanding-reads"},
    Alias{"--all", "--max-size", kVerbs},
    Alias{"-a", "--max-size", kVerbs},
    Alias{"-b", "--direction", kVerbs},
    Alias{"-c", "--service", kVerbs},
    Alias{"-d", "--rails", kVerbs},
    Alias{"-D", "--duration", kVerbs},
    Alias{"-e", "--events", kVerbs},
    Alias{"-I", "--inline", kVerbs},
    Alias{"-l", "--post-list", kVerbs},
    Alias{"-m", "--mtu", kVerbs},
    Alias{"-n", "--iterations", kVerbs},
    Alias{"-o", "--outstanding-reads", kVerbs},
    Alias{"-q", "--qps", kVerbs},
    Alias{"-Q", "--cq-moderation", kVerbs},
    Alias{"-s", "--size", kVerbs},
    Alias{"-S", "--sl", kVerbs},
    Alias{"-t", "--tx-depth", kVerbs},
    Alias{"-x", "--gid-index", kVerbs},
    Alias{"--parallel", "--streams"},
    Alias{"--time", "--duration", kTcp},
    Alias{"--length", "--size", kTcp},
    Alias{"--window", "--buffer", kTcp},
    Alias{"--bidir", "--direction", kTcp},
    Alias{"--reverse", "--direction", kTcp},
    Alias{"--zerocopy", "--zero-copy"},
    Alias{"--bind", "--interface", kTcp},
    Alias{"--bind-dev", "--interface", kTcp},
    Alias{"-P", "--streams", kTcp},
    Alias{"-t", "--duration", kTcp},
    Alias{"-l", "--size", kTcp},
    Alias{"-w", "--buffer", kTcp},
    Alias{"-R", "--direction", kTcp},
    Alias{"-Z", "--zero-copy", kTcp},
    Alias{"-B", "--interface", kTcp},
};

bool holds(const std::vector<std::string>& known, std::string_view option) {
  return std::ranges::find(known, option) != known.end();
}

}  // namespace

std::optional<std::string> nearest_option(std::string_view option,
                                          const std::vector<std::string>& known) {
  for (const Alias& alias : kAliases) {
    if (alias.theirs == option && holds(known, alias.ours) &&
        (alias.beside.empty() || holds(known, alias.beside)))
      return std::string(alias.ours);
  }
  return nearest(option, known);
}

}  // namespace cb
