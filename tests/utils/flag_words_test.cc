#include "caffe2/utils/flag_words.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "tests/db/temporary_directory.h"

DEFINE_string(recipe, "", "name of a recipe");
DEFINE_string(words_title, "", "a text");
DEFINE_int32(words_size, 1, "a number");
DEFINE_bool(words_fast, false, "a bool");

namespace caffe2 {
namespace {

using Words = std::vector<std::string>;

const bool kAdopted = AdoptFlag("words_size", "a number") && AdoptFlag("words_fast", "a bool");

class FlagWordsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_.Path(name);
    std::ofstream(path) << text;
    return path;
  }

  static Words Expand(Words words) {
    words.insert(words.begin(), "program");
    Words all = ExpandFlags(
        words,
        [](const std::string& name) {
          CheckUsage(name == "small", "no recipe ", name);
          return std::string("--words_size=5 --words_fast");
        },
        [](const std::string& flag) { return std::string(flag == "size" ? "use it not" : ""); });
    EXPECT_EQ(all.at(0), "program");
    all.erase(all.begin());
    return all;
  }

  static std::string Error(const Words& words) {
    try {
      Expand(words);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(FlagWordsTest, KeepsOtherWords) {
  const Words words = {"--words_size", "3", "picture", "-", "--", "--unknown"};
  EXPECT_EQ(Expand(words), words);
  EXPECT_EQ(Expand({"--words_fast", "True", "x"}), (Words{"--words_fast=true", "x"}));
  EXPECT_EQ(Expand({"-words_fast", "false"}), (Words{"-words_fast=false"}));
}

TEST_F(FlagWordsTest, PutsLinesInThePlaceOfAFile) {
  const std::string file =
      Write("run.flags", "# comment\n\n  --words_size=4 \r\n-nowords_fast\n--words_title=a b\n");
  EXPECT_EQ(Expand({"--words_size=3", "--flagfile", file, "--words_fast"}),
            (Words{"--words_size=3", "--words_size=4", "-nowords_fast", "--words_title=a b",
                   "--words_fast"}));
  EXPECT_EQ(SourceOfFlag("words_size"), "file " + file);
  EXPECT_EQ(SourceOfFlag("words_fast"), "command line");
  EXPECT_EQ(SourceOfFlag("recipe"), "default");
}

TEST_F(FlagWordsTest, LeavesOutLinesForOtherPrograms) {
  const std::string file = Write("run.flags", "other*\n--no_such_flag=1\n*\n--words_size=4\n");
  EXPECT_EQ(Expand({"--flagfile=" + file}), (Words{"--words_size=4"}));
}

TEST_F(FlagWordsTest, KeepsLinesForThisProgram) {
  const std::string own = gflags::ProgramInvocationShortName();
  for (const std::string& programs :
       {own, "other " + own, own + "\nother", own.substr(0, 3) + "*"}) {
    const std::string file = Write("run.flags", programs + "\n--words_size=4\n");
    EXPECT_EQ(Expand({"--flagfile=" + file}), (Words{"--words_size=4"})) << programs;
  }
  EXPECT_EQ(Expand({"--flagfile=" + Write("run.flags", own + "\n")}), Words{});
}

TEST_F(FlagWordsTest, RefusesLinesThatAreNoFlags) {
  const auto bad = [this](const std::string& line, const std::string& others = "--words_fast\n") {
    const std::string file = Write("run.flags", "# a comment\n\n" + line + "\n" + others);
    const std::string error = Error({"--flagfile=" + file}), start = "file " + file + ", line 3: ";
    EXPECT_EQ(error.substr(0, start.size()), start);
    return error.substr(std::min(start.size(), error.size()));
  };
  EXPECT_EQ(bad("words_size=16"), "\"words_size=16\" is not a flag: write --words_size=16");
  EXPECT_EQ(bad("words_size: 16"), "\"words_size: 16\" is not a flag: write --words_size=16");
  EXPECT_EQ(bad("words_title = \"a b\""),
            "\"words_title = \"a b\"\" is not a flag: write --words_title=a b");
  EXPECT_EQ(bad("words_size 16"), "\"words_size 16\" is not a flag: write --words_size=16");
  EXPECT_EQ(bad("words_size"), "\"words_size\" is not a flag: write --words_size=value");
  EXPECT_EQ(bad("words_fast"), "\"words_fast\" is not a flag: write --words_fast");
  EXPECT_EQ(bad("size=16"), "\"size=16\" is not a flag: write --name=value");
  EXPECT_EQ(bad("true"), "\"true\" is not a flag: write --name=value");
  EXPECT_EQ(bad("16"), "\"16\" is not a flag: write --name=value");
  EXPECT_EQ(bad("[train]"), "\"[train]\" is not a flag: write --name=value");
  EXPECT_EQ(bad("PK\x03\x04"), "\"PK??\" is not a flag: write --name=value");
  EXPECT_EQ(bad("word", ""), "\"word\" is not a flag: write --name=value");  // no flags follow
}

TEST_F(FlagWordsTest, RecipesCountLeast) {
  const std::string file = Write("run.flags", "--recipe=small\n--words_size=4\n");
  EXPECT_EQ(Expand({"--flagfile=" + file}),
            (Words{"--words_size=5", "--words_fast", "--recipe=small", "--words_size=4"}));
  EXPECT_EQ(SourceOfFlag("words_size"), "file " + file);
  EXPECT_EQ(SourceOfFlag("words_fast"), "recipe small");
  EXPECT_EQ(Expand({"--words_size=2", "--recipe", "small"}),
            (Words{"--words_size=5", "--words_fast", "--words_size=2", "--recipe", "small"}));
  EXPECT_EQ(SourceOfFlag("words_size"), "command line");
  EXPECT_EQ(Error({"--recipe", "big"}), "no recipe big");
}

TEST_F(FlagWordsTest, NamesTheFileOfABadLine) {
  const auto bad = [this](const std::string& line) {
    return Error({"--flagfile=" + Write("run.flags", line)});
  };
  const std::string file = directory_.Path("run.flags");
  EXPECT_EQ(bad("--words_sice=3\n"),
            "file " + file + ": unknown flag --words_sice: did you mean --words_size?");
  EXPECT_EQ(bad("--size=3\n"), "file " + file + ": unknown flag --size: use it not");
  EXPECT_EQ(bad("--words_size\n--words_fast\n"),
            "file " + file + ": --words_size has no value: write --words_size=VALUE");
  EXPECT_EQ(bad("-=3\n"), "file " + file + ", line 1: \"-=3\" is not a flag: write --name=value");
  EXPECT_EQ(bad("--flagfile=" + file + "\n"), "--flagfile " + file + " includes itself");
}

TEST_F(FlagWordsTest, RefusesValuesOfAnotherType) {
  EXPECT_EQ(Error({"--words_size", "abc"}),
            "--words_size is \"abc\", must be a whole number (int32)");
  EXPECT_EQ(Error({"--words_size=1.5"}), "--words_size is \"1.5\", must be a whole number (int32)");
  EXPECT_EQ(Error({"--words_fast=maybe"}),
            "--words_fast is \"maybe\", must be true or false (bool)");
  EXPECT_EQ(Error({"--words_size"}), "--words_size has no value: write --words_size=VALUE");
  const std::string file = Write("run.flags", "--words_size=x\n");
  EXPECT_EQ(Error({"--flagfile=" + file}),
            "file " + file + ": --words_size is \"x\", must be a whole number (int32)");
  Expand({"--words_size=7", "--words_title="});
  EXPECT_EQ(FLAGS_words_size, 1);  // only gflags sets it
}

TEST_F(FlagWordsTest, RefusesAFileThatCannotBeRead) {
  for (const std::string& path : {directory_.Path("none"), directory_.Path("")}) {
    try {
      Expand({"--flagfile=" + path});
      ADD_FAILURE() << path;
    } catch (const std::exception& error) {
      EXPECT_EQ(ExitCodeOf(error), ExitCode::kNoInput) << error.what();
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace caffe2
