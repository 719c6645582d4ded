// Files that PyTorch before 1.6 wrote, and which torchvision and LPIPS still hand out.
#include "lact/io/pt_storages.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "io/pt_bytes.h"
#include "lact/io/pt_reader.h"
#include "lact/io/safetensors.h"
#include "support/errors.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

std::string old_storage(const std::string& type, const std::string& key, int64_t elements,
                        const std::string& part_of = "N") {
  return "(" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") + whole(elements) +
         part_of + "tQ";
}
std::string old_tensor(const std::string& from, const std::vector<int64_t>& sizes,
                       const std::vector<int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor\n(" + from + whole(0) + tuple(sizes) + tuple(strides) + "tR";
}

class PtStream : public ::testing::Test {
 protected:
  std::map<std::string, at::Tensor> read(const std::string& bytes) {
    testing::write_file(path_, bytes);
    return read_pt(path_);
  }
  /// {"a": six floats as 2 x 3, "b": two bytes}
  std::string good() const {
    return pt_stream(dict(text("a") + old_tensor(old_storage("FloatStorage", "94", 6), {2, 3}, {3, 1}) +
                          text("b") + old_tensor(old_storage("ByteStorage", "17", 2), {2}, {1})),
                     {{"17", 2, "\x07\x08"}, {"94", 6, floats({0, 1, 2, 3, 4, 5})}});
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_ / "old.pth";
};

TEST_F(PtStream, TensorsAreFoundBehindThePickles) {
  const auto tensors = read(good());
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_TRUE(tensors.at("a").equal(at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_TRUE(tensors.at("b").equal(at::tensor({7, 8}).to(at::kByte)));
}

TEST_F(PtStream, PairsOfPythonTwoAndOldParametersAreStateDicts) {
  const std::string six = old_storage("FloatStorage", "1", 6);
  const std::string parameter = "ctorch.nn.parameter\nParameter\n(" + old_tensor(six, {6}, {1}) +
                                "tR(\x88\x89"
                                "ccollections\nOrderedDict\n)Rtb";
  const auto tensors = read(pt_stream("ccollections\nOrderedDict\n(](](" + text("w") + parameter + "e](" +
                                          text("v") + old_tensor(six, {3, 2}, {1, 3}) + "eetR",
                                      {{"1", 6, floats({0, 1, 2, 3, 4, 5})}}));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_TRUE(tensors.at("w").equal(at::arange(6, at::kFloat)));
  EXPECT_TRUE(tensors.at("v").equal(at::arange(6, at::kFloat).view({2, 3}).t()));
}

TEST_F(PtStream, MistakesAreASentence) {
  const std::string words = dict(text("a") + old_tensor(old_storage("FloatStorage", "1", 6), {6}, {1}));
  const std::string six = floats({0, 1, 2, 3, 4, 5});
  EXPECT_SENTENCE(read(pt_stream(words, {{"1", 6, six.substr(1)}})),
                  "old.pth: is cut off in storage \"1\": 6 elements of 4 bytes, but 23 bytes are left");
  EXPECT_SENTENCE(read(pt_stream(words, {{"1", uint64_t(1) << 62, six}})), "is cut off in storage");
  EXPECT_SENTENCE(read(pt_stream(words, {{"1", 5, six}})), "has 20 bytes, expected 6 elements of 4 bytes");
  EXPECT_SENTENCE(read(pt_stream(words, {{"2", 6, six}})), "lists a storage that no tensor uses");
  EXPECT_SENTENCE(read(pt_stream(words, {})), "storage \"1\" is missing");
  EXPECT_SENTENCE(read(pt_stream(words, {{"1", 6, six}, {"1", 6, six}})), "holds two storages \"1\"");
  EXPECT_SENTENCE(read(pt_stream(words, {{"1", 6, six}}, "M\xea\x03")), "another version of torch.save");
  EXPECT_SENTENCE(read(pt_stream(words, {{"1", 6, six}}, "M\xe9\x03", "\x89")), "in little order");
  EXPECT_SENTENCE(
      read(pt_stream(dict(text("a") + old_tensor(old_storage("FloatStorage", "1", 6, whole(3)), {6}, {1})),
                     {{"1", 6, six}})),
      "not a tensor's storage");
  EXPECT_SENTENCE(read(pt_stream("cos\nsystem\n(" + text("true") + "tR", {})), "names \"os.system\"");
  const std::string pairs = "ccollections\nOrderedDict\n(](](" + text("w");
  EXPECT_SENTENCE(read(pt_stream(pairs + "eetR", {})), "arguments that do not fit");
}

TEST_F(PtStream, AListThatIsMadeADictAgainAndAgainTakesNoMemory) {
  // 60000 pairs, remembered, made a dict of 60000 times: 3.6 billion.
  std::string words = "ccollections\nOrderedDict\nq\x01](";
  for (int i = 0; i < 60000; ++i) words += "NN\x86";
  words += "eq\x02";
  for (int i = 0; i < 60000; ++i) words += "h\x01h\x02\x85R0";
  EXPECT_SENTENCE(read(pt_stream(words, {})), "arguments that do not fit");
}

TEST_F(PtStream, CutOrDamagedFilesAreASentenceOrTensors) {
  const std::string whole_file = good();
  for (size_t length = 15; length < whole_file.size(); ++length)
    EXPECT_THROW(read(whole_file.substr(0, length)), Error) << length;
  for (size_t i = 0; i < whole_file.size(); ++i) {
    std::string bytes = whole_file;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x41);
    try {
      read(bytes);
    } catch (const Error&) {
    }
  }
}

TEST_F(PtStream, ThePublishedHeadsOfLpipsAreReadAsTheyAre) {
  const std::string lpips = testing::shared_data("lpips");
  if (lpips.empty()) GTEST_SKIP() << "the weights of LPIPS are not on this machine";
  for (const char* network : {"vgg", "alex", "squeeze"}) {
    const auto found = read_pt(lpips + "/original/" + network + ".pth");
    const auto expected = read_safetensors(lpips + "/lpips_lin_" + network + "_v0.1.safetensors").tensors;
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(found.at(name).equal(tensor)) << name;
  }
}

}  // namespace
}  // namespace lact::io
