#include <csignal>

#include "cli/app.h"
#include "sys/os/dl_trial.h"
#include "sys/os/left_behind.h"

int main(int argc, char** argv) {
  if (cb::library_trial::is_asked_for(argc, argv)) cb::library_trial::run(argc, argv);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the size of files is an error that has words
  cb::refuse_foreign_end();
  return cb::end_of_process(cb::run_app(argc, argv));
}
