// Talks to a language-model server as programs do.
#pragma once

#include <nlohmann/json.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace lact::testing {

struct ApiAnswer {
  int status = 0;
  std::string content_type, body;

  nlohmann::json json() const { return nlohmann::json::parse(body); }
  /// Of an error; "" if it is none.
  std::string sentence() const { return json().value("/error/message"_json_pointer, std::string()); }

  /// The events of a stream, without "[DONE]", which `done` tells of.
  std::vector<nlohmann::json> events() const {
    std::vector<nlohmann::json> all;
    std::istringstream lines(body);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("data: ", 0) == 0 && line != "data: [DONE]") {
        all.push_back(nlohmann::json::parse(line.substr(6)));
      }
    }
    return all;
  }
  bool done() const {
    const std::string mark = "data: [DONE]\n\n";
    return body.size() >= mark.size() && body.compare(body.size() - mark.size(), mark.size(), mark) == 0;
  }
};

class ApiClient {
 public:
  explicit ApiClient(int port, std::string key = "") : port_(port), key_(std::move(key)) {}

  ApiAnswer get(const std::string& path) const { return ask("GET", path, "", ""); }
  ApiAnswer remove(const std::string& path) const { return ask("DELETE", path, "", ""); }
  ApiAnswer post(const std::string& path, const nlohmann::json& body) const {
    return ask("POST", path, body.dump(), "application/json");
  }

  ApiAnswer ask(const std::string& method, const std::string& path, const std::string& body,
                const std::string& type) const {
    namespace http = boost::beast::http;
    boost::asio::io_context io;
    boost::asio::ip::tcp::socket socket(io);
    socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port_)});
    http::request<http::string_body> request;
    request.method_string(method);
    request.target(path);
    request.version(11);
    request.set(http::field::host, "127.0.0.1");
    if (!type.empty()) request.set(http::field::content_type, type);
    if (!key_.empty()) request.set(http::field::authorization, "Bearer " + key_);
    request.keep_alive(false);
    request.body() = body;
    request.prepare_payload();
    http::write(socket, request);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(size_t{1} << 30);
    http::read(socket, buffer, parser);
    const auto& response = parser.get();
    return {int(response.result_int()), std::string(response[http::field::content_type]), response.body()};
  }

 private:
  int port_;
  std::string key_;
};

}  // namespace lact::testing
