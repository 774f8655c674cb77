// SPDX-License-Identifier: Apache-2.0
// The only file that includes spdlog here.
#include "harness/report/log.hpp"

#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "harness/printable.hpp"

namespace w4 {

namespace {

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("w4check", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%v");
    made.flush_on(spdlog::level::trace);
    return made;
  }();
  return instance;
}

}  // namespace

void log_error(std::string_view line) {
  logger().error(printable(line, whole_text));
}

void log_warning(std::string_view line) {
  logger().warn("warning: " + printable(line, whole_text));
}

}  // namespace w4
