// A client of `lact lm serve`: lets the server read a text file into a memory, then asks and prints the
// answer as it is written.
//
//   lact lm serve --model run &
//   server_client 8080 book.txt "In the end"
#include <nlohmann/json.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <stdexcept>

namespace {

namespace http = boost::beast::http;
using nlohmann::json;

/// Posts a JSON object and calls `on_event` with every event of the answer, as it arrives.
void post(int port, const std::string& path, const json& body,
          const std::function<void(const json&)>& on_event) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
  http::request<http::string_body> request{http::verb::post, path, 11};
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::content_type, "application/json");
  request.body() = body.dump();
  request.prepare_payload();
  http::write(socket, request);

  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  answer.body_limit(std::size_t{1} << 30);
  std::size_t shown = 0;
  while (!answer.is_done()) {
    http::read_some(socket, buffer, answer);
    const std::string& text = answer.get().body();
    if (answer.is_header_done() && answer.get().result() != http::status::ok) continue;
    for (std::size_t end; (end = text.find("\n\n", shown)) != std::string::npos; shown = end + 2) {
      const std::string event = text.substr(shown, end - shown);
      if (event.rfind("data: {", 0) == 0) on_event(json::parse(event.substr(6)));
    }
  }
  if (answer.get().result() != http::status::ok) {
    throw std::runtime_error(json::parse(answer.get().body())["error"]["message"].get<std::string>());
  }
}

}  // namespace

int main(int count, char** words) try {
  if (count != 4) throw std::runtime_error("usage: server_client PORT TEXT_FILE PROMPT");
  const int port = std::stoi(words[1]);
  std::ifstream file(words[2]);
  if (!file) throw std::runtime_error(std::string(words[2]) + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  const json memory = {{"name", "example"}, {"text", text}, {"replace", true}, {"stream", true}};
  post(port, "/v1/memories", memory, [](const json& event) {
    if (event.contains("progress")) {
      std::cerr << "\r" << event["progress"]["processed"] << " of " << event["progress"]["total"]
                << " tokens";
    } else {
      std::cerr << "\rread into " << event["bytes"] << " bytes\n";
    }
  });
  const json question = {{"prompt", words[3]}, {"memory", "example"}, {"max_tokens", 100}, {"stream", true}};
  post(port, "/v1/completions", question, [](const json& event) {
    if (!event["choices"].empty()) std::cout << event["choices"][0]["text"].get<std::string>() << std::flush;
  });
  std::cout << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
