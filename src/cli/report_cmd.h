#pragma once

#include <string>
#include <vector>

#include "cli/outputs.h"
#include "core/exit_code.h"

namespace cb {

struct ReportOptions {
  std::string directory;
  std::string html, markdown;  // files to write; if no file is named at all: DIR/report.html
  Outputs outputs = {};
  std::string site;
  std::string waivers;
  std::vector<std::string> public_keys;  // files
  std::string language = "en";
};

// Judges the campaign as of the day it ended and writes the named files, each as a whole or not at
// all. The same directory and options give the same bytes. Prints the verdict and the files.
ExitCode write_reports(const ReportOptions& options);

}  // namespace cb
