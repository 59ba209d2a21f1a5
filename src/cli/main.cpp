#include "cli/app.h"
#include "sys/os/left_behind.h"

int main(int argc, char** argv) { return cb::end_of_process(cb::run_app(argc, argv)); }
