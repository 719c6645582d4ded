// The public face of the library: what a program that embeds it includes. The headers named here, and what
// they include themselves, are the ones that are installed; everything else may change at any time.
//
//   const auto lm = lact::tasks::lm::load("run");            // a model folder and its tokenizer
//   lact::tasks::lm::Session session(lm);
//   session.read_file("book.txt");                           // into the fast weights, in constant memory
//   session.write("In the end", {}, [](const std::string& bytes) { std::cout << bytes; });
#pragma once

// Every program: errors are lact::Error with one sentence; configs are structs that go to JSON and back.
#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/base/threads.h"
#include "lact/base/version.h"

// The operation of the paper, as a pure function of tensors: a schedule of writes into fast weights and
// reads.
#include "lact/ttt/collect.h"
#include "lact/ttt/scan.h"
#include "lact/ttt/schedule.h"

// Layers: one interface for LaCT and every baseline, over one description of the sequence.
#include "lact/mixers/layout.h"
#include "lact/mixers/mixer.h"
#include "lact/mixers/state.h"
#include "lact/models/common/layers.h"
#include "lact/ops/attention/window_attention.h"

// Models by name or by config.
#include "lact/models/lm/model.h"
#include "lact/models/nvs/model.h"
#include "lact/models/presets.h"
#include "lact/models/video/model.h"

// Language: a model folder, and a text that is read, continued and saved; many texts at once.
#include "lact/models/lm/generate.h"
#include "lact/tasks/lm/engine/engine.h"
#include "lact/tasks/lm/load.h"
#include "lact/tasks/lm/session.h"

// View synthesis: a model, and a scene that is read from photos, or Gaussians of a .ply file, drawn from any
// camera.
#include "lact/data/views/capture.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/tasks/nvs/gaussian_scene.h"
#include "lact/tasks/nvs/load.h"
#include "lact/tasks/nvs/session.h"

// Video: a model with its codec and text encoder, and a video that goes on chunk by chunk.
#include "lact/tasks/video/load.h"
#include "lact/tasks/video/session.h"

// Tensors in and out of files.
#include "lact/io/gaussian_ply.h"
#include "lact/io/image.h"
#include "lact/io/safetensors.h"
