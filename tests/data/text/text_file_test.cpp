#include "lact/data/text/text_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "data/text/sample_text.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {

namespace {

using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

void write_gzip(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

std::string read_all(const std::string& path, size_t block_bytes = TextFile::kBlockBytes) {
  TextFile file(path, block_bytes);
  std::string text;
  for (std::string block; file.next(block);) {
    EXPECT_LE(block.size(), block_bytes);
    text += block;
  }
  EXPECT_EQ(file.bytes(), text.size());
  EXPECT_EQ(file.hash(), fnv_hex(text));
  return text;
}

TEST(TextFile, PlainAndGzipGiveTheSameTextInAnyBlocks) {
  const TemporaryFolder folder;
  const std::string text = testing::sample_text(3000);
  write_file(folder / "a.txt", text);
  write_gzip(folder / "a.gz", text);
  for (const size_t block : {size_t{1}, size_t{7}, size_t{4096}, TextFile::kBlockBytes}) {
    EXPECT_EQ(read_all(folder / "a.txt", block), text);
    EXPECT_EQ(read_all(folder / "a.gz", block), text);
  }
}

TEST(TextFile, GzipIsKnownByItsContents) {
  const TemporaryFolder folder;
  write_gzip(folder / "packed.txt", "hello");
  write_file(folder / "plain.gz", "hello");
  EXPECT_EQ(read_all(folder / "packed.txt"), "hello");
  EXPECT_EQ(read_all(folder / "plain.gz"), "hello");
  EXPECT_TRUE(io::is_packed(folder / "packed.txt"));
  EXPECT_FALSE(io::is_packed(folder / "plain.gz"));
}

TEST(TextFile, HashIsThatOfFnv1a) {
  EXPECT_EQ(fnv_hex(""), "cbf29ce484222325");
  EXPECT_EQ(fnv_hex("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(fnv_hex("foobar"), "85944171f73967e8");
}

TEST(TextFile, EmptyFileHasNoBlocks) {
  const TemporaryFolder folder;
  write_file(folder / "empty.txt", "");
  EXPECT_EQ(read_all(folder / "empty.txt"), "");
}

TEST(TextFile, DamagedGzipIsASentence) {
  const TemporaryFolder folder;
  write_gzip(folder / "whole.gz", testing::sample_text(20000));
  const std::string bytes = read_file(folder / "whole.gz");
  for (const size_t length : {size_t{2}, size_t{9}, size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    write_file(folder / "cut.gz", bytes.substr(0, length));
    EXPECT_SENTENCE(read_all(folder / "cut.gz"), "cut.gz: the gzip file ends in the middle");
  }
  std::string changed = bytes;
  changed[bytes.size() / 2] = static_cast<char>(changed[bytes.size() / 2] ^ 0x55);
  write_file(folder / "changed.gz", changed);
  EXPECT_SENTENCE(read_all(folder / "changed.gz"), "changed.gz: ");
}

TEST(TextFile, InvalidTextNamesTheByte) {
  const TemporaryFolder folder;
  write_file(folder / "latin1.txt", std::string(5000, 'x') + "caf\xE9 au lait");
  for (const size_t block : {size_t{1}, size_t{64}, TextFile::kBlockBytes}) {
    EXPECT_SENTENCE(read_all(folder / "latin1.txt", block),
                    "latin1.txt: byte 5003 (0xe9) is not valid UTF-8");
  }
  write_gzip(folder / "cut.gz", "ab\xE6\x97");
  EXPECT_SENTENCE(read_all(folder / "cut.gz"), "cut.gz: byte 2 (0xe6) is not valid UTF-8");
}

TEST(TextFile, AMistakeNamesTheLine) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "one\ntwo\r\nthr\xE9\xE9");
  for (const size_t block : {size_t{1}, size_t{2}, size_t{10}, TextFile::kBlockBytes})
    EXPECT_SENTENCE(read_all(folder / "a.txt", block), "a.txt: byte 12 (0xe9) is not valid UTF-8, in line 3");
}

TEST(TextFile, AByteOrderMarkAndCarriageReturnsAreLeftOut) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "\xEF\xBB\xBFone\r\n\r\ntwo\r\r\nlone \r stays, as \xEF\xBB\xBF does\r");
  for (const size_t block : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, TextFile::kBlockBytes}) {
    TextFile file(folder / "a.txt", block);
    std::string text;
    for (std::string part; file.next(part);) text += part;
    EXPECT_EQ(text, "one\n\ntwo\r\nlone \r stays, as \xEF\xBB\xBF does\r") << block;
    EXPECT_EQ(file.bytes(), text.size());
    EXPECT_EQ(file.hash(), fnv_hex(text));
  }
  for (const char* whole : {"\xEF", "\xEF\xBB"}) {
    write_file(folder / "cut.txt", whole);
    EXPECT_SENTENCE(read_all(folder / "cut.txt"), "cut.txt: byte 0 (0xef) is not valid UTF-8");
  }
  write_file(folder / "mark.txt", "\xEF\xBB\xBF");
  EXPECT_EQ(read_all(folder / "mark.txt"), "");
}

TEST(TextFile, MissingFileAndFolderAreSentences) {
  const TemporaryFolder folder;
  EXPECT_SENTENCE(TextFile(folder / "none.txt"), "none.txt: does not exist");
  EXPECT_SENTENCE(TextFile(folder / "."), "is a folder, expected a file");
  EXPECT_SENTENCE(TextFile("/dev/null"), "/dev/null: cannot be read: it is not a regular file");
  EXPECT_SENTENCE(TextFile(""), "is empty");
}

TEST(FindTextFiles, FilesStayAndFoldersAreSearchedInOrder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "books/old");
  for (const char* name : {"books/b.txt", "books/old/a.md", "books/c.text", "books/d.txt.gz", "books/e.json",
                           "books/g.jsonl", "books/h.jsonl.zst", "books/i.ndjson", "f.bin"}) {
    write_file(folder / name, "text");
  }
  const std::vector<std::string> expected = {folder / "f.bin",          folder / "books/b.txt",
                                             folder / "books/c.text",   folder / "books/d.txt.gz",
                                             folder / "books/g.jsonl",  folder / "books/h.jsonl.zst",
                                             folder / "books/i.ndjson", folder / "books/old/a.md"};
  EXPECT_EQ(find_text_files({folder / "f.bin", folder / "books"}), expected);
}

TEST(FindTextFiles, NothingFoundIsASentence) {
  const TemporaryFolder folder;
  write_file(folder / "e.json", "{}");
  EXPECT_SENTENCE(find_text_files({folder / ""}),
                  "the folder holds no .txt, .text, .md, .jsonl, .ndjson, .gz or .zst file");
  EXPECT_SENTENCE(find_text_files({folder / "none"}), "none: does not exist");
  EXPECT_SENTENCE(find_text_files({}), "no text files are given");
}

}  // namespace

}  // namespace lact::data
