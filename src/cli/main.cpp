#include "cli/app.h"

int main(int argc, char** argv) { return cb::run_app(argc, argv); }
