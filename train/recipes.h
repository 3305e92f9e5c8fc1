// Recipes: sets of flags that train a network well on a data set.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

struct Recipe {
  const char* name;
  const char* program;  // the program that it is for
  const char* what;     // "LeNet on MNIST, 5 epochs"
  const char* reached;  // what it reached here, and on which data
  const char* flags;    // of the program, separated by blanks; no data, devices or shards
};

const std::vector<Recipe>& Recipes();

// Throws UsageError, which lists the recipes, for an unknown name.
const Recipe& FindRecipe(const std::string& name);

// The flags of a recipe. Throws UsageError if it is for another program.
std::string RecipeFlags(const std::string& name, const std::string& program);

}  // namespace caffe2
