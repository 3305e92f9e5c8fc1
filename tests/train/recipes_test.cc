#include "train/recipes.h"

#include <gtest/gtest.h>

#include <set>

#include "caffe2/core/usage_error.h"

namespace caffe2 {
namespace {

std::string ErrorOf(const std::string& name, const std::string& program) {
  try {
    RecipeFlags(name, program);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// tests/programs/test_recipes.py gives the flags to the programs.
TEST(RecipesTest, HaveNamesAndSayWhatTheyReached) {
  std::set<std::string> names;
  for (const Recipe& recipe : Recipes()) {
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_EQ(RecipeFlags(recipe.name, recipe.program), recipe.flags);
    EXPECT_NE(std::string(recipe.reached), "");
  }
  EXPECT_EQ(names.count("mnist_lenet"), 1u);
}

TEST(RecipesTest, RefusesUnknownNamesAndOtherPrograms) {
  EXPECT_EQ(ErrorOf("mnist_lenets", "mnist_trainer")
                .find("there is no recipe \"mnist_lenets\"; do you mean mnist_lenet? (known: "),
            0u);
  EXPECT_EQ(ErrorOf("mnist_lenet", "resnet50_trainer"),
            "--recipe mnist_lenet is for mnist_trainer, not for resnet50_trainer");
}

}  // namespace
}  // namespace caffe2
