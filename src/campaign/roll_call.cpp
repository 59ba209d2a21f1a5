#include "campaign/roll_call.h"

#include "campaign/answer.h"

namespace cb {
namespace {

Task roll_call_task(const RunSetup& setup, const RollCall& call) {
  std::vector<std::string> program{setup.binary, kRollCall};
  if (!call.ended.empty()) {
    program.emplace_back("--end");
    program.push_back(call.ended.string());
  }
  Task out;
  out.command = launch_command(setup.campaign.launch, {call.host}, 1, {}, program);
  out.out = setup.paths.logs() / "roll-call.out";
  out.err = setup.paths.logs() / "roll-call.err";
  out.deadline_seconds = setup.roll_call_seconds;
  return out;
}

}  // namespace

std::vector<std::string> silent_hosts(const RunSetup& setup, const std::vector<RollCall>& calls) {
  if (setup.campaign.launch.launcher == Launcher::none) return {};
  std::vector<Task> tasks;
  for (const RollCall& call : calls) tasks.push_back(roll_call_task(setup, call));
  const std::vector<Answer> answers =
      run_for_answers(tasks, setup.executor, setup.paths.logs().parent_path(), kRollCallAnswer);
  std::vector<std::string> out;
  if (setup.executor.stop_signals() > 0) return out;  // nobody was given the time to answer
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!answers[i].is_done()) out.push_back(calls[i].host.name);
  }
  return out;
}

}  // namespace cb
