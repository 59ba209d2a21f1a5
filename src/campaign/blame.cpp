#include "campaign/blame.h"

#include <algorithm>

#include "campaign/attempts.h"

namespace cb {
namespace {

constexpr Exclude kExcludes[] = {Exclude::never, Exclude::lost, Exclude::failing};

// "node3 rank 5" or "node3": the host, if it is one of the run's.
std::string host_in(const std::string& subject, const std::vector<std::string>& hosts) {
  const size_t rank = subject.find(" rank ");
  const std::string host = subject.substr(0, rank);
  return std::ranges::find(hosts, host) != hosts.end() ? host : "";
}

// An MPI may end ranks because another was lost: these are no sign of what is wrong.
bool is_follower(const Message& message) {
  return message.id == "said.of" && std::ranges::any_of(message.args, [](const Arg& arg) {
           return arg.message() != nullptr && arg.message()->id == "hang.broke_later";
         });
}

// The sentences of a diagnosis are "SUBJECT: what is wrong with it"; sentences stand in sentences.
void collect_suspects(const Message& message, const RunInfo& run, std::vector<std::string>& out) {
  if (is_follower(message)) return;
  for (const Arg& arg : message.args) {
    if (const Message* inner = arg.message()) {
      collect_suspects(*inner, run, out);
      continue;
    }
    if (message.id != "said.of") continue;
    const auto text = arg.in(Lang::en);
    const std::string host = text ? host_in(*text, run.hosts) : "";
    if (!host.empty() && std::ranges::find(out, host) == out.end()) out.push_back(host);
  }
}

}  // namespace

const char* exclude_name(Exclude exclude) {
  switch (exclude) {
    case Exclude::never:
      return "never";
    case Exclude::lost:
      return "lost";
    case Exclude::failing:
      return "failing";
  }
  return "";
}

std::vector<std::string> exclude_names() {
  std::vector<std::string> out;
  for (const Exclude exclude : kExcludes) out.emplace_back(exclude_name(exclude));
  return out;
}

std::vector<std::string> suspects_of(const RunInfo& run) {
  std::vector<std::string> out;
  if (run.partial) collect_suspects(run.partial->message(), run, out);
  return out;
}

bool has_failed(JobState state, const Document* document) {
  if (state == JobState::failed || state == JobState::deadline) return true;
  if (document == nullptr) return false;
  const BadNews news = bad_news(*document);
  return news.failed_checks + news.errored > 0;
}

bool too_many_to_blame(size_t blamed, size_t taking_part) { return 2 * blamed > taking_part; }

}  // namespace cb
