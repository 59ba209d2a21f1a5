// Plays mpirun for `clusterbench run --launcher mpirun`, so that a campaign over a thousand hosts
// runs on one machine: it starts nothing, waits as long as a script says, and writes the result
// document that the job would have written. tests/scale/test_faults.py installs it under that name.
//
// The script is the file that STAND_IN_SCRIPT names, a rule a line:
//   seconds LOW HIGH        how long a job takes, drawn by the job's name
//   HOST STEP dead          from that step on the host does not answer
//   HOST STEP hang          the step hangs on the host: alone until it is killed; across all hosts
//                           its watchdogs say so, once
//   HOST STEP fail          the step ends with code 4 and no document
//   HOST STEP wrong         the step's check fails on the host
// A host that is dead stays so: STAND_IN_STATE is a directory where that is noted.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "core/build_info.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/result.h"

using namespace cb;

namespace {

namespace fs = std::filesystem;

struct Script {
  double low = 0, high = 0;
  std::map<std::string, std::map<std::string, std::string>> rules;  // step → host → what
};

Script read_script(const char* file) {
  Script out;
  std::istringstream lines(read_file(file));
  for (std::string first, second, third; lines >> first >> second >> third;) {
    if (first == "seconds") {
      out.low = std::stod(second);
      out.high = std::stod(third);
    } else {
      out.rules[second][first] = third;
    }
  }
  return out;
}

struct Request {
  std::vector<std::string> hosts;
  std::vector<std::string> program;  // the measuring command
  fs::path json;
  std::string job, step;
  bool roll_call = false;
};

Request read_request(int argc, char** argv) {
  Request out;
  const std::string binary = std::getenv("STAND_IN_BINARY");
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!out.program.empty() || word == binary) out.program.push_back(word);
    if (word == "roll-call") out.roll_call = true;
    if (word == "--json") out.json = argv[i + 1];
    if (word != "--host" || !out.program.empty()) continue;
    std::istringstream list(argv[i + 1]);
    for (std::string host; std::getline(list, host, ',');)
      out.hosts.push_back(host.substr(0, host.find(':')));
  }
  out.job = out.json.filename().string();
  out.job = out.job.substr(0, out.job.find(".json."));
  const size_t dash = out.job.find('-');
  if (dash != std::string::npos) out.step = out.job.substr(dash + 1, out.job.find('@') - dash - 1);
  return out;
}

class Launcher {
 public:
  Launcher(Request request, Script script)
      : request_(std::move(request)),
        script_(std::move(script)),
        state_(std::getenv("STAND_IN_STATE")) {}

  int run() {
    for (const std::string& host : request_.hosts) {
      if (rule(host) == "dead") std::ofstream(state_ / ("dead-" + host));
    }
    for (const std::string& host : request_.hosts) {
      if (fs::exists(state_ / ("dead-" + host))) return lost(host);
    }
    if (request_.roll_call) return std::cout << "this host answers: clusterbench\n", 0;
    rest();
    for (const std::string& host : request_.hosts) {
      const std::string what = rule(host);
      if (what == "fail") return fail(host);
      if (what == "hang") return hang(host);
    }
    return measure();
  }

 private:
  std::string rule(const std::string& host) const {
    const auto step = script_.rules.find(request_.step);
    if (step == script_.rules.end()) return "";
    const auto found = step->second.find(host);
    return found == step->second.end() ? "" : found->second;
  }

  void rest() const {
    const double share = static_cast<double>(std::hash<std::string>()(request_.job) % 1000) / 1000;
    const double seconds = script_.low + share * (script_.high - script_.low);
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  static int lost(const std::string& host) {
    std::cerr << "ssh: connect to host " << host << " port 22: No route to host\n";
    return 255;
  }

  static int fail(const std::string& host) {
    std::cerr << "clusterbench fake: " << host << ": no such device\n";
    return 4;
  }

  int hang(const std::string& host) {
    if (request_.hosts.size() == 1) {
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(60));
    }
    Document document = blank();
    document.run.partial = said(
        "said.of", said("hang.deadline", "5 s"),
        said("said.of", host + " rank 1", said("hang.silent", "6 s", said("hang.done", "x", 3))));
    write(document);
    return 124;
  }

  Document blank() const {
    Document out;
    // The run asks for documents of its own build.
    const BuildInfo& build = build_info();
    out.tool.version = build.version;
    out.tool.commit = build.commit;
    out.tool.dirty = build.dirty;
    out.run = {.id = request_.job, .started = utc_now(), .ended = utc_now()};
    out.run.argv = request_.program;
    out.run.launcher = "mpirun";
    out.run.ranks = static_cast<int>(request_.hosts.size());
    out.run.hosts = request_.hosts;
    return out;
  }

  int measure() const {
    Document document = blank();
    const bool looks = request_.program.at(1) == "info";
    Record record{.case_name = request_.program.at(1),
                  .started = document.run.started,
                  .ended = document.run.ended};
    if (!looks) record.params.set("value", 2.0);
    int code = 0;
    for (const std::string& host : request_.hosts) {
      const size_t entity = record.entity({host, "host", ""});
      if (looks) document.hosts.push_back({host, {{"system", "0"}}});
      if (looks) continue;
      const bool wrong = rule(host) == "wrong";
      record.checks.push_back({.name = "data", .passed = !wrong, .entity = entity});
      if (wrong) {
        code = 1;
        continue;
      }
      Samples samples;
      for (int i = 0; i < 20; ++i) samples.add(2);
      record.metrics.push_back({.name = "bytes_per_second",
                                .unit = "bytes_per_second",
                                .entity = entity,
                                .samples = samples});
    }
    document.records = {record};
    write(document);
    return code;
  }

  void write(const Document& document) const {
    write_file_atomically(request_.json, to_json_text(document), Durable::no);
  }

  Request request_;
  Script script_;
  fs::path state_;
};

}  // namespace

int main(int argc, char** argv) {
  for (const char* name : {"STAND_IN_SCRIPT", "STAND_IN_STATE", "STAND_IN_BINARY"}) {
    if (std::getenv(name) != nullptr) continue;
    std::cerr << "stand_in_launcher: plays mpirun in tests; " << name << " is not set\n";
    return 2;
  }
  return Launcher(read_request(argc, argv), read_script(std::getenv("STAND_IN_SCRIPT"))).run();
}
