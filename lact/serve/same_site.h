// Who may talk to a local server: the page it served itself, and nobody else's page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lact::serve {

/// The host of a Host header, without port and brackets, in lower case: "127.0.0.1:8080" -> "127.0.0.1". ""
/// when it is malformed.
std::string host_of(std::string_view header);

/// Whether only programs of this machine can reach it.
bool is_loopback(const std::string& host);

/// Against DNS rebinding: a name that someone else controls may point to this machine, so only addresses,
/// "localhost" and the names that the server was started with are accepted.
bool host_is_ours(std::string_view header, const std::string& listening,
                  const std::vector<std::string>& further_names = {});

/// Browsers name the page that a request comes from; it must be ours. A program other than a browser sends no
/// Origin.
bool origin_is_ours(std::string_view origin, std::string_view host_header);

/// Whether the list holds this origin, such as "http://127.0.0.1:3000", or "*". Pages without an origin of
/// their own ("null") are in no list.
bool origin_is_listed(std::string_view origin, const std::vector<std::string>& origins);

}  // namespace lact::serve
