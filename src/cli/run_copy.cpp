#include "cli/run_copy.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// CUDA modules lie beside the program or in ../lib/clusterbench: sys/gpu/cuda/modules/library.h.
std::vector<fs::path> modules_of(const fs::path& program) {
  std::vector<fs::path> out;
  const fs::path folder = program.parent_path();
  std::error_code absent;
  for (const fs::path& place : {folder, folder.parent_path() / "lib/clusterbench"}) {
    for (const auto& entry : fs::directory_iterator(place, absent)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("libclusterbench_cuda") && name.ends_with(".so") &&
          entry.is_regular_file(absent))
        out.push_back(entry.path());
    }
    if (!out.empty()) break;
  }
  std::ranges::sort(out);
  return out;
}

CopySetup copy_setup(const RunSetup& setup, const RunOptions& options) {
  CopySetup out{
      .launch = setup.campaign.launch,
      .hosts = setup.campaign.hosts,
      .executor = setup.executor,
      .id = setup.campaign.id,
      .logs = setup.paths.logs(),
      .program = setup.binary,
      .beside = modules_of(setup.binary),
      .places = options.copy_to.empty() ? copy_places() : std::vector<std::string>{options.copy_to},
      .piece = input_piece(setup.campaign.launch, own_environment)};
  out.hosts.insert(out.hosts.end(), setup.campaign.spares.begin(), setup.campaign.spares.end());
  return out;
}

void say_refusals(const CopyEnd& copies) {
  for (const CopyRefusal& r : copies.refusals)
    std::cerr << terminal_safe(fmt::format("   ! {}: not copied to {}: {}", r.host, r.place, r.why))
              << '\n';
}

}  // namespace

void check_copy_options(const RunOptions& options, Launcher launcher) {
  if (!options.copy && options.copy_to.empty()) return;
  const char* option = options.copy_to.empty() ? "--copy" : "--copy-to";
  if (launcher == Launcher::none)
    throw UsageError("clusterbench run", option,
                     "needs mpirun or srun: on this host alone the program is there, so leave it "
                     "out");
  if (!options.copy_to.empty() && !fs::path(options.copy_to).is_absolute())
    throw UsageError("clusterbench run", option,
                     "must be an absolute path, the same on every host: /scratch, for example");
}

ProgramCopies::ProgramCopies(RunSetup& setup, const RunOptions& options) {
  if (!options.copy && options.copy_to.empty()) return;
  setup_ = copy_setup(setup, options);
  std::error_code failed;
  fs::create_directories(setup_->logs, failed);
  if (failed)
    throw Error(fmt::format("cannot create {}: {}", setup_->logs.string(), failed.message()));
  copies_ = copy_program(*setup_, [&](const std::string& place) {
    std::cerr << terminal_safe(fmt::format("   copying this program to {} hosts, into {}",
                                           setup_->hosts.size(), place))
              << '\n'
              << std::flush;
  });
  say_refusals(copies_);
  if (!copies_.program.empty()) {
    setup.binary = copies_.program;
  } else if (setup.executor.stop_signals() == 0) {
    throw Error(
        "this program could not be copied to any host; next: name a directory of every host that "
        "may hold programs with --copy-to, or install it there and leave --copy out");
  }
}

ProgramCopies::~ProgramCopies() {
  try {
    remove();
  } catch (const std::exception&) {
    // Whatever is left is named by its campaign; the next --copy of the campaign removes it.
  }
}

void ProgramCopies::remove() {
  if (!setup_) return;
  const CopySetup setup = *setup_;
  setup_.reset();
  const std::vector<std::string> kept = remove_copies(setup, copies_);
  if (!kept.empty())
    std::cerr << terminal_safe(fmt::format("   ! {} stays on {}; next: remove it there",
                                           fs::path(copies_.program).parent_path().string(),
                                           fmt::join(kept, ", ")))
              << '\n'
              << std::flush;
}

}  // namespace cb
