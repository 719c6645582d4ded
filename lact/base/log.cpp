#include "lact/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace lact::log {

namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("lact", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("lact: %^%v%$");
    return made;
  }();
  return *instance;
}

}  // namespace

void write(Level level, const std::string& message) {
  switch (level) {
    case Level::info:
      logger().info("{}", message);
      break;
    case Level::warning:
      logger().warn("warning: {}", message);
      break;
    case Level::error:
      logger().error("error: {}", message);
      break;
  }
}

void set_quiet(bool quiet) { logger().set_level(quiet ? spdlog::level::warn : spdlog::level::info); }

bool quiet() { return logger().level() > spdlog::level::info; }

}  // namespace lact::log
