// SPDX-License-Identifier: Apache-2.0
// Catches what subcommands throw, once, and turns it into one line and an exit code.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "harness/report/log.hpp"
#include "harness/run/interrupt.hpp"
#include "reference/error.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"

int main(int argc, char** argv) {
  w4::ignore_closed_pipes();
  try {
    const int code = w4::parse_command_line(argc, argv)();
    // What could not be printed is lost; a reader that has gone away wanted no more.
    const int failed = w4::output_error();
    if (failed == 0 || failed == EPIPE || w4::interrupted()) return code;
    w4::log_error(std::string("stdout: write: ") + std::strerror(failed));
    return code == 0 ? 3 : code;
  } catch (const w4::Error& error) {
    const bool input = error.blame() == w4::Blame::input;
    w4::log_error(input ? error.what() : std::string("w4check: internal: ") + error.what());
    return input ? 2 : 3;
  } catch (const std::exception& error) {
    w4::log_error(std::string("w4check: internal: ") + error.what());
    return 3;
  }
}
