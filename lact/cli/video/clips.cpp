#include "lact/base/error.h"
#include "lact/cli/fields.h"
#include "lact/cli/video/video.h"
#include "lact/tasks/video/training/run.h"

namespace lact::cli {

namespace {

const char* const kMadeUp = "Made-up clips";
const char* const kOnDisk = "Clips on the disk";

}  // namespace

void add_clip_fields(CLI::App& verb, tasks::video::ClipsOptions& clips) {
  verb.add_option("--clips", clips.files.paths,
                  "Videos, folders of frames, folders with these below them, or .jsonl lists; without any, "
                  "clips are made up")
      ->group("Clips");
  // Length and size are the verb's business.
  add_fields(verb, clips.stories, kMadeUp,
             {"chunks", "chunk_frames", "first_chunk_short", "height", "width", "fps"});
  add_fields(verb, clips.files, kOnDisk, {"paths"});
}

void check_clip_fields(const CLI::App& verb, const tasks::video::ClipsOptions& clips) {
  const bool from_files = !clips.files.paths.empty();
  for (const auto* option : verb.get_options()) {
    if (option->count() == 0) continue;
    LACT_CHECK(!from_files || option->get_group() != kMadeUp,
               "[clips] {} is for made-up clips, but --clips names files", option->get_name());
    LACT_CHECK(from_files || option->get_group() != kOnDisk,
               "[clips] {} is for clips on the disk: name them by --clips", option->get_name());
  }
}

}  // namespace lact::cli
