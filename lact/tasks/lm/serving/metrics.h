// What the server has done, for Prometheus: llama.cpp's names with a prefix of our own.
#pragma once

#include "lact/serve/http_message.h"
#include "lact/tasks/lm/serving/serving_parts.h"

namespace lact::tasks::lm {

serve::HttpResponse metrics_response(ServingParts& parts);

}  // namespace lact::tasks::lm
