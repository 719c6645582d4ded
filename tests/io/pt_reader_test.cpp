#include "lact/io/pt_reader.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/pt_bytes.h"
#include "lact/io/safetensors.h"
#include "support/errors.h"
#include "support/limited_memory.h"
#include "support/places.h"
#include "support/temporary_folder.h"

namespace lact::io {
namespace {

using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

struct ZipFile {
  std::string name, bytes;
  uint16_t method = 0;
};

/// A zip archive of stored files; with `zip64` every size and place stands in the 64-bit records.
std::string zip(const std::vector<ZipFile>& files, bool zip64 = false) {
  std::string archive, list;
  for (const auto& [name, bytes, method] : files) {
    const uint64_t header = archive.size(), size = bytes.size();
    const auto in32 = [&](uint64_t number) { return bytes_of(zip64 ? 0xffffffffu : uint32_t(number)); };
    const std::string extra = zip64 ? bytes_of<uint16_t>(1) + bytes_of<uint16_t>(24) + bytes_of(size) +
                                          bytes_of(size) + bytes_of(header)
                                    : "";
    const std::string middle = bytes_of(method) + bytes_of<uint32_t>(0) + bytes_of<uint32_t>(0);
    archive += bytes_of<uint32_t>(0x04034b50) + bytes_of<uint16_t>(0) + bytes_of<uint16_t>(0) + middle +
               bytes_of(uint32_t(size)) + bytes_of(uint32_t(size)) + bytes_of(uint16_t(name.size())) +
               bytes_of<uint16_t>(0) + name + bytes;
    list += bytes_of<uint32_t>(0x02014b50) + bytes_of<uint16_t>(0) + bytes_of<uint16_t>(0) +
            bytes_of<uint16_t>(0) + middle + in32(size) + in32(size) + bytes_of(uint16_t(name.size())) +
            bytes_of(uint16_t(extra.size())) + bytes_of<uint16_t>(0) + bytes_of<uint16_t>(0) +
            bytes_of<uint16_t>(0) + bytes_of<uint32_t>(0) + in32(header) + name + extra;
  }
  const uint64_t offset = archive.size();
  archive += list;
  if (zip64) {
    const uint64_t end64 = archive.size();
    archive += bytes_of<uint32_t>(0x06064b50) + bytes_of<uint64_t>(44) + bytes_of<uint32_t>(0) +
               bytes_of<uint32_t>(0) + bytes_of<uint32_t>(0) + bytes_of<uint64_t>(files.size()) +
               bytes_of<uint64_t>(files.size()) + bytes_of<uint64_t>(list.size()) + bytes_of(offset);
    archive +=
        bytes_of<uint32_t>(0x07064b50) + bytes_of<uint32_t>(0) + bytes_of(end64) + bytes_of<uint32_t>(1);
  }
  const auto count = bytes_of(zip64 ? uint16_t(0xffff) : uint16_t(files.size()));
  const auto in32 = [&](uint64_t number) { return bytes_of(zip64 ? 0xffffffffu : uint32_t(number)); };
  return archive + bytes_of<uint32_t>(0x06054b50) + bytes_of<uint32_t>(0) + count + count +
         in32(list.size()) + in32(offset) + bytes_of<uint16_t>(0);
}

class PtReader : public ::testing::Test {
 protected:
  std::map<std::string, at::Tensor> read(const std::string& words, bool zip64 = false,
                                         const WantedTensor& wanted = {}) {
    write_file(path_, zip({{"any/data.pkl", pickle(words)},
                           {"any/byteorder", "little"},
                           {"any/data/0", floats({0, 1, 2, 3, 4, 5})},
                           {"any/data/1", "\x01\x02"}},
                          zip64));
    return read_pt(path_, wanted);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "file.pt";
  std::string six_ = storage("FloatStorage", "0", 6);
};

TEST_F(PtReader, ReadsDictsOfTensorsUnderTheirJoinedNames) {
  const std::string words =
      dict(text("model") +
           dict(text("a") + tensor(six_, 0, {2, 3}, {3, 1}) + text("b.c") + tensor(six_, 1, {2, 2}, {1, 2})) +
           text("list") + "](" + tensor(six_, 4, {}, {}) + "e" + text("steps") + whole(7) + text("rate") +
           "G" + std::string(8, '\0') + text("nothing") + "N" + whole(3) + tensor(six_, 0, {0, 4}, {4, 1}));
  for (const bool zip64 : {false, true}) {
    const auto tensors = read(words, zip64);
    ASSERT_EQ(tensors.size(), 4u);
    EXPECT_TRUE(tensors.at("model.a").equal(at::arange(6, at::kFloat).view({2, 3})));
    EXPECT_TRUE(tensors.at("model.b.c").equal(at::tensor({1.f, 3.f, 2.f, 4.f}).view({2, 2})));
    EXPECT_EQ(tensors.at("list.0").item<float>(), 4);
    EXPECT_EQ(tensors.at("3").sizes(), at::IntArrayRef({0, 4}));
  }
  const auto some = read(words, false, [](const std::string& name) { return name.starts_with("model."); });
  EXPECT_EQ(some.size(), 2u);
}

TEST_F(PtReader, MetadataOfAnOrderedDictIsPassedOver) {
  const auto tensors = read("ccollections\nOrderedDict\n)R(" + text("a") + tensor(six_, 0, {6}, {1}) + "u}" +
                            text("_metadata") + "Nsb");
  EXPECT_EQ(tensors.size(), 1u);
}

TEST_F(PtReader, TheAuthorsCheckpointIsTheSafetensorsFile) {
  const auto folder = std::filesystem::path(testing::source_folder()) / "tests/golden/models/lact_nvs_tiny";
  const auto expected = read_safetensors((folder / "model.safetensors").string()).tensors;
  const auto found = read_pt((folder / "checkpoint.pt").string());
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(found.at("model." + name).equal(tensor)) << name;
}

TEST_F(PtReader, NothingIsExecuted) {
  EXPECT_SENTENCE(read("cos\nsystem\n(" + text("touch /tmp/harm") + "tR"), "names \"os.system\"");
  EXPECT_SENTENCE(read(text("builtins") + text("eval") + "\x93"), "names \"builtins.eval\"");
  EXPECT_SENTENCE(read("ctorch\nload\n"), "nothing is executed");
  EXPECT_SENTENCE(read("ccollections\nOrderedDict\n(" + text("x") + "tR"), "arguments that do not fit");
  EXPECT_SENTENCE(read(text("x") + ")R"), "no function");
  EXPECT_SENTENCE(read("(" + text("a") + text("b") + "i"), "instruction 0x69");  // INST
  EXPECT_SENTENCE(read(")\x81"), "instruction 0x81");                            // NEWOBJ
}

TEST_F(PtReader, TensorsStayInsideOfTheirStorage) {
  const auto one = [&](const std::string& words) { return dict(text("a") + words); };
  EXPECT_SENTENCE(read(one(tensor(six_, 1, {2, 3}, {3, 1}))), "reaches beyond its storage of 6 elements");
  EXPECT_SENTENCE(read(one(tensor(six_, 0, {2, 3}, {4, 1}))), "reaches beyond");
  EXPECT_SENTENCE(read(one(tensor(six_, -1, {2}, {1}))), "offset -1");
  EXPECT_SENTENCE(read(one(tensor(six_, 0, {2}, {-1}))), "strides [-1]");
  EXPECT_SENTENCE(read(one(tensor(six_, 0, {2, 3}, {1}))), "has shape [2, 3], strides [1]");
  EXPECT_SENTENCE(read(one(tensor(six_, 0, {int64_t(1) << 39}, {0}))), "larger than its storage");
  EXPECT_SENTENCE(read(one(tensor(six_, 0, {INT64_MAX, 4}, {INT64_MAX, 1}))), "has shape");
  EXPECT_SENTENCE(read(one(tensor(six_, INT64_MAX, {2, 2}, {INT64_MAX, INT64_MAX}))),
                  "larger than its storage");
  EXPECT_SENTENCE(read(one(tensor(storage("FloatStorage", "0", 7), 0, {7}, {1}))),
                  "has 24 bytes, expected 7 elements");
  EXPECT_SENTENCE(read(one(tensor(storage("FloatStorage", "0", int64_t(1) << 60), 0, {1}, {1}))),
                  "has 24 bytes");
  EXPECT_SENTENCE(read(one(tensor(storage("FloatStorage", "9", 6), 0, {6}, {1}))),
                  "holds no file \"any/data/9\"");
  EXPECT_SENTENCE(read(one(tensor(storage("FloatStorage", "../data.pkl", 6), 0, {6}, {1}))), "holds no file");
  EXPECT_SENTENCE(read(one(tensor(storage("BoolStorage", "1", 2), 0, {2}, {1}))), "neither 0 nor 1");
  EXPECT_SENTENCE(read(dict(text("a") + tensor(six_, 0, {6}, {1}) + text("b") +
                            tensor(storage("IntStorage", "0", 6), 0, {6}, {1}))),
                  "two types");
}

TEST_F(PtReader, NoTwoTensorsShareMemory) {
  const auto found =
      read(dict(text("a") + tensor(six_, 0, {6}, {1}) + text("b") + tensor(six_, 0, {2, 3}, {3, 1}) +
                text("c") + tensor(six_, 0, {3, 2}, {1, 3}) + text("d") + tensor(six_, 2, {2}, {1})));
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [name, one] : found) {
    EXPECT_TRUE(one.is_contiguous()) << name;
    for (const auto& [other_name, other] : found)
      EXPECT_EQ(one.is_alias_of(other), name == other_name) << name << " and " << other_name;
  }
  EXPECT_TRUE(found.at("c").equal(at::tensor({0.f, 3.f, 1.f, 4.f, 2.f, 5.f}).view({3, 2})));
}

TEST_F(PtReader, AnEmptyTensorNeedsNoStorage) {
  const auto found = read(dict(text("a") + tensor(six_, 0, {8, 0}, {1, 1})));
  EXPECT_EQ(found.at("a").sizes(), at::IntArrayRef({8, 0}));
  const int64_t large = int64_t(1) << 40;
  EXPECT_SENTENCE(read(dict(text("a") + tensor(six_, 0, {0, large, large, large}, {1, 1, 1, 1}))),
                  "larger than its storage");
}

TEST_F(PtReader, ASmallFileTakesLittleMemoryWhateverItSays) {
  const testing::LimitedMemory limited(uint64_t(1) << 30);
  const auto repeated = [](const std::string& words, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += words;
    return all;
  };
  // A list of 20,000 numbers, named value 1.
  const std::string list = "](" + repeated("K\x01", 20000) + "eq\x01" + "0";
  // Its size taken again and again: 16 GB if each were a copy.
  const std::string size_of_list =
      "ctorch\nSize\nq\x02" + std::string("0") + repeated("h\x02h\x01\x85R0", 100000);
  EXPECT_EQ(read(list + size_of_list + dict(text("a") + tensor(six_, 0, {6}, {1}))).size(), 1u);
  // A tensor of 20,000 dimensions, again and again.
  const std::string rebuild =
      "ctorch._utils\n_rebuild_tensor_v2\nq\x02" + std::string("0") + six_ + "q\x03" + "0";
  EXPECT_SENTENCE(
      read(list + rebuild + repeated("h\x02(h\x03" + whole(0) + "h\x01h\x01\x89NtR0", 50000) + "}"),
      "the shape of a tensor has 20000 numbers, expected at most 16");
  // A storage whose key is long, again and again: 20 GB.
  const std::string key = text(std::string(200000, 'k')) + "q\x01" + "0";
  EXPECT_SENTENCE(
      read(
          key +
          repeated("(" + text("storage") + "ctorch\nFloatStorage\nh\x01" + text("cpu") + "K\x01tQ0", 100000) +
          "}"),
      "the key of a storage has 200000 bytes");
  EXPECT_SENTENCE(read(repeated("N0", 3 << 20) + "}"), "more than 4194304 instructions");
}

TEST_F(PtReader, TensorsOfOneStorageTakeAFewTimesTheFileAtMost) {
  const std::string data(4 << 20, '\0');
  const auto views = [&](int count, const std::string& name) {
    const std::string million = storage("FloatStorage", "0", 1 << 20);
    std::string words = million + "q\x01" + "0}(";
    for (int i = 0; i < count; ++i)
      words += text(name + std::to_string(i)) + tensor("h\x01", 0, {1 << 10, 1 << 10}, {1, 1 << 10});
    write_file(path_, zip({{"any/data.pkl", pickle(words + "u")}, {"any/data/0", data}}));
    return read_pt(path_);
  };
  EXPECT_EQ(views(5, "shared").size(), 5u);
  const testing::LimitedMemory limited(uint64_t(1) << 30);
  EXPECT_SENTENCE(views(1000, "t"), "show the same bytes again and again");
  EXPECT_SENTENCE(views(1, std::string(2000, 'n')), "one whose name has more than 1024 bytes");
}

TEST_F(PtReader, BrokenPicklesAreSentences) {
  EXPECT_SENTENCE(read("X\xff\xff\xff\x7f"), "cut off");
  EXPECT_SENTENCE(read(std::string("\x8d") + bytes_of(~uint64_t(0))), "cut off");
  EXPECT_SENTENCE(read("0"), "takes more values than it gives");
  EXPECT_SENTENCE(read("t"), "did not begin");
  EXPECT_SENTENCE(read("}(" + text("key") + "u"), "no list or dict");
  EXPECT_SENTENCE(read("h\x05"), "refers to value 5");
  EXPECT_SENTENCE(read("Na"), "takes more values");
  EXPECT_SENTENCE(read(text("just a text")), "neither a dict nor a list");
  EXPECT_SENTENCE(read("\x8a\xff" + std::string(255, '\x01')), "whole number of 255 bytes");
  EXPECT_SENTENCE(read(dict("N" + tensor(six_, 0, {6}, {1}))), "neither a text nor a whole number");
  // A list that holds itself, and one of 2^40 values.
  EXPECT_SENTENCE(read("]q\x01h\x01"
                       "a"),
                  "too deep");
  std::string doubling = "]";
  for (int i = 0; i < 30; ++i) doubling = doubling + "q\x01" + "0](h\x01h\x01" + "e";
  EXPECT_SENTENCE(read(doubling), "too many");
}

TEST_F(PtReader, BrokenArchivesAreSentences) {
  const auto broken = [&](const std::string& bytes) {
    write_file(path_, bytes);
    return read_pt(path_);
  };
  EXPECT_SENTENCE(read_pt(folder_ / "missing.pt"), "missing.pt: does not exist");
  EXPECT_SENTENCE(broken(""), "not a zip archive");
  EXPECT_SENTENCE(broken("\x80\x02}."), "not a zip archive");
  EXPECT_SENTENCE(broken(zip({{"a/other", ""}})), "no data.pkl");
  EXPECT_SENTENCE(broken(zip({{"a/data.pkl", pickle("}"), 8}})), "compressed or encrypted");
  EXPECT_SENTENCE(broken(zip({{"a/data.pkl", pickle("}")}, {"a/data.pkl", pickle("}")}})), "two files");
  EXPECT_SENTENCE(broken(zip({{"a/data.pkl", pickle("}")}, {"a/byteorder", "big"}})),
                  "order, expected little");

  // Two names for the same bytes.
  std::string shared = zip({{"a/data.pkl", pickle("}")}, {"a/one", std::string(400, 'x')}, {"a/two", ""}});
  const size_t one = shared.rfind("a/one") - 46, two = shared.rfind("a/two") - 46;
  shared.replace(two + 20, 8, shared.substr(one + 20, 8));
  shared.replace(two + 42, 4, shared.substr(one + 42, 4));
  EXPECT_SENTENCE(broken(shared), "the files of the zip archive overlap");

  read(dict(text("a") + tensor(six_, 0, {6}, {1})));
  const std::string good = read_file(path_);
  for (size_t length = 0; length < good.size(); length += 5) {
    write_file(path_, good.substr(0, length));
    EXPECT_THROW(read_pt(path_), Error) << length;
  }
  // A changed byte gives tensors or a sentence, nothing else.
  for (size_t at = 0; at < good.size(); at += 3) {
    std::string changed = good;
    changed[at] = char(changed[at] ^ 0xff);
    write_file(path_, changed);
    try {
      read_pt(path_);
    } catch (const Error&) {
    }
  }
  std::string many = good;
  const size_t end = many.size() - 22;
  many.replace(end + 10, 2, bytes_of<uint16_t>(60000));
  EXPECT_SENTENCE(broken(many), "claims 60000 files");
  many.replace(end + 10, 2, bytes_of<uint16_t>(0xffff));
  EXPECT_SENTENCE(broken(many), "no zip64 record");
}

}  // namespace
}  // namespace lact::io
