#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/host_gemm.h"
#include "bench/harness/case.h"

// Finds the library that multiplies fastest here. It measures each in a child process of this same
// binary (`clusterbench blas-probe …`), so that a crash, an illegal instruction or a hang costs one
// candidate only.
namespace cb {

// A library, and for OpenBLAS the core type that it is told to use (empty: the library guesses).
struct Candidate {
  std::string library;
  std::string core;
  auto operator<=>(const Candidate&) const = default;
};
std::string candidate_name(const Candidate& candidate);  // "openblas:SkylakeX"

// The candidates that this CPU may be able to run. `library` is "auto" or the name of one library.
std::vector<Candidate> candidates(const std::string& library);

// What a child must measure: every type in `types`, on these CPUs, for about `seconds` each.
struct ProbeRequest {
  Candidate candidate;
  std::vector<GemmType> types;
  std::vector<int> cpus;
  int64_t size = 1024;
  double seconds = 0.1;
};

struct ProbeFigure {
  double operations_per_second = 0;  // rate of the fastest product
  std::string version;
  std::string core;  // core type in use
};
// A figure per type, or the reason why there is none.
using ProbeAnswer = std::map<GemmType, std::variant<ProbeFigure, std::string>>;

// In the child: opens the library, measures, checks the product, and returns the answer as text for
// stdout.
std::string probe_text(const ProbeRequest& request);
// In the parent: the arguments of the hidden subcommand, and the parser of its answer.
std::vector<std::string> probe_arguments(const ProbeRequest& request);
ProbeAnswer parse_probe(const std::string& text);

// Asks one candidate. probe_in_child runs a child process; tests pass their own function.
using Prober = std::function<ProbeAnswer(const ProbeRequest&)>;
ProbeAnswer probe_in_child(const ProbeRequest& request);

// The choice for one type.
struct Choice {
  Candidate candidate;
  Said figures;  // "openblas:SkylakeX 93.1 GFLOP/s, blis … failed: …", fastest first
};

// Measures all candidates once, then the finalists (within 20 % of the fastest, at most three)
// twice more in turn; the best median wins. Calls `moved` after every child. Throws Error naming
// what was tried if no candidate works for a type.
std::map<GemmType, Choice> choose(const ProbeRequest& request, const std::string& library,
                                  const Prober& prober, const std::function<void()>& moved);

// The first rank of every host chooses, and the host's other ranks take its choice. Collective.
std::map<GemmType, Choice> choose_on_hosts(Context& context, const ProbeRequest& request,
                                           const std::string& library, const Prober& prober);

// The same for the first type, and one choice for all: that of the first rank's host, where it
// works on every host. Two libraries that are as fast round otherwise, so ranks whose bits are
// compared must multiply alike. Where it does not work, each host keeps its own. Collective.
Choice choose_alike(Context& context, const ProbeRequest& request, const std::string& library,
                    const Prober& prober);

}  // namespace cb
