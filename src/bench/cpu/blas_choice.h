#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/host_gemm.h"
#include "bench/harness/case.h"

// Which library multiplies fastest here: found by measuring each in a child process of this very
// binary (`clusterbench blas-probe …`), so that a crash, an illegal instruction or a hang of one
// costs only that one.
namespace cb {

// A library, and for OpenBLAS the core type that it is told to use (empty: its own guess).
struct Candidate {
  std::string library;
  std::string core;
  auto operator<=>(const Candidate&) const = default;
};
std::string candidate_name(const Candidate& candidate);  // "openblas:SkylakeX"

// Those that this CPU may be able to run. `library` is "auto" or the name of one.
std::vector<Candidate> candidates(const std::string& library);

// What a child is to measure: every type in `types`, on these CPUs, for about `seconds` each.
struct ProbeRequest {
  Candidate candidate;
  std::vector<GemmType> types;
  std::vector<int> cpus;
  int64_t size = 1024;
  double seconds = 0.1;
};

struct ProbeFigure {
  double operations_per_second = 0;  // the best of its products
  std::string version;
  std::string core;  // in use
};
// Per type a figure, or the reason why there is none.
using ProbeAnswer = std::map<GemmType, std::variant<ProbeFigure, std::string>>;

// In the child: opens, measures, checks the product, and gives the answer as text for stdout.
std::string probe_text(const ProbeRequest& request);
// In the parent: the arguments of the hidden subcommand, and its answer.
std::vector<std::string> probe_arguments(const ProbeRequest& request);
ProbeAnswer parse_probe(const std::string& text);

// Asks one candidate. The usual one runs a child; tests pass their own.
using Prober = std::function<ProbeAnswer(const ProbeRequest&)>;
ProbeAnswer probe_in_child(const ProbeRequest& request);

// The choice for one type.
struct Choice {
  Candidate candidate;
  Said figures;  // "openblas:SkylakeX 93.1 GFLOP/s, blis … failed: …", fastest first
};

// All candidates once, then those within 20 % of the fastest, three at most, twice more in turn;
// the best median wins. Throws Error naming what was tried if none works for a type. `moved` is
// called after every child.
std::map<GemmType, Choice> choose(const ProbeRequest& request, const std::string& library,
                                  const Prober& prober, const std::function<void()>& moved);

// Collective. The first rank of every host chooses, the host's other ranks take its choice.
std::map<GemmType, Choice> choose_on_hosts(Context& context, const ProbeRequest& request,
                                           const std::string& library, const Prober& prober);

}  // namespace cb
