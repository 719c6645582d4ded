#include "lact/bench/serve_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "lact/base/error.h"

namespace lact::bench {

namespace {

namespace http = boost::beast::http;
using Socket = boost::asio::ip::tcp::socket;
using Watch = std::chrono::steady_clock;

double seconds_between(Watch::time_point from, Watch::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

void send_post(Socket& socket, int port, const std::string& path, const options::Json& body) {
  socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)});
  http::request<http::string_body> request{http::verb::post, path, 11};
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::content_type, "application/json");
  request.body() = body.dump();
  request.prepare_payload();
  http::write(socket, request);
}

}  // namespace

options::Json ServeClient::post(const std::string& path, const options::Json& body) const {
  boost::asio::io_context io;
  Socket socket(io);
  send_post(socket, port_, path, body);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response);
  LACT_CHECK(response.result_int() / 100 == 2, "[bench] {} answered {}: {}", path, response.result_int(),
             response.body());
  return options::Json::parse(response.body());
}

StreamedText ServeClient::stream(options::Json body, std::optional<int64_t> leave_after) const {
  body["stream"] = true;
  const auto start = Watch::now();
  boost::asio::io_context io;
  Socket socket(io);
  send_post(socket, port_, "/completion", body);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(size_t{1} << 30);
  StreamedText text;
  size_t looked_at = 0;
  while (!parser.is_done()) {
    http::read_some(socket, buffer, parser);
    const std::string& all = parser.get().body();
    for (size_t end; (end = all.find("\n\n", looked_at)) != std::string::npos; looked_at = end + 2) {
      if (all.compare(looked_at, 6, "data: ") != 0) continue;  // a sign of life
      const auto event = options::Json::parse(all.substr(looked_at + 6, end - looked_at - 6));
      LACT_CHECK(!event.contains("error"), "[bench] the stream ended: {}", event.dump());
      if (event["stop"] == true) {
        text.whole = true;
        text.cached_tokens = event["timings"]["cache_n"];
      }
      const auto now = Watch::now();
      for (const auto& token : event["tokens"]) {
        if (text.tokens.empty()) text.first_seconds = seconds_between(start, now);
        text.tokens.push_back(token);
        text.later_seconds = seconds_between(start, now) - text.first_seconds;
      }
      if (leave_after && int64_t(text.tokens.size()) >= *leave_after) return text;
    }
    LACT_CHECK(!parser.is_header_done() || parser.get().result_int() == 200, "[bench] the server answered {}",
               parser.get().result_int());
  }
  return text;
}

}  // namespace lact::bench
