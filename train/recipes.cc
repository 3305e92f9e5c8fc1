#include "train/recipes.h"

#include "caffe2/core/closest_word.h"
#include "caffe2/core/usage_error.h"

namespace caffe2 {

// Learning rates are for the batches that --lr_batch_size says, of all shards together; with others
// they are in proportion. mean and std are of the training images: blue, green, red.
const std::vector<Recipe>& Recipes() {
  static const std::vector<Recipe> recipes = {
      {"mnist_lenet", "mnist_trainer", "LeNet on MNIST, 5 epochs",
       "0.9915 on the test images of MNIST",
       "--network=lenet --num_epochs=5 --num_examples=0 --batch_size=64 --lr_batch_size=64 "
       "--lr=0.02 --lr_policy=poly --shuffle"},
      {"mnist_lenet_long", "mnist_trainer", "LeNet on shifted images of MNIST, 12 epochs",
       "0.9956 on the test images of MNIST",
       "--network=lenet --num_epochs=12 --num_examples=0 --batch_size=64 --lr_batch_size=64 "
       "--lr=0.05 --lr_policy=poly --wd=0.0005 --label_smoothing=0.1 --image_pad=2 --shuffle"},
      {"mnist_lenet_fast", "mnist_trainer", "LeNet on MNIST, 1 epoch",
       "0.9885 on the test images of MNIST",
       "--network=lenet --num_epochs=1 --num_examples=0 --batch_size=64 --lr_batch_size=64 "
       "--lr=0.04 --lr_policy=poly --warmup_epochs=0.1 --shuffle"},
      {"cifar10_resnet20", "resnet50_trainer", "ResNet-20 on CIFAR-10, 160 epochs",
       "0.878 on test images of a JPEG copy of CIFAR-10, after 152 of 160 epochs; 130 s on an H200 "
       "with --gpus 0 --dtype float16 --resident_data",
       "--model=resnet20_cifar --image_size=32 --image_scale=32 --image_pad=4 --num_labels=10 "
       "--num_epochs=160 --epoch_size=0 --batch_size=128 --lr_batch_size=128 "
       "--base_learning_rate=0.1 "
       "--lr_steps=80,120 --weight_decay=0.0001 --mean=113.9,123.0,125.3 --std=66.7,62.1,63.0 "
       "--shuffle"},
      {"cifar10_resnet20_fast", "resnet50_trainer", "ResNet-20 on CIFAR-10, 15 epochs",
       "0.856 on test images of a JPEG copy of CIFAR-10; 50 s on an H200 with --gpus 0 "
       "--resident_data",
       "--model=resnet20_cifar --image_size=32 --image_scale=32 --image_pad=4 --num_labels=10 "
       "--num_epochs=15 --epoch_size=0 --batch_size=128 --lr_batch_size=128 "
       "--base_learning_rate=0.2 "
       "--lr_policy=cosine --warmup_epochs=1 --weight_decay=0.0005 --mean=113.9,123.0,125.3 "
       "--std=66.7,62.1,63.0 --shuffle"},
      {"cifar10_resnet9", "resnet50_trainer", "ResNet-9 on CIFAR-10, 24 epochs",
       "0.900 on test images of a JPEG copy of CIFAR-10; 12 s on an H200, beside other work, with "
       "--gpus 0 --dtype float16 --resident_data",
       "--model=resnet9_cifar --image_size=32 --image_scale=32 --image_pad=4 --num_labels=10 "
       "--num_epochs=24 --epoch_size=0 --batch_size=512 --lr_batch_size=512 "
       "--base_learning_rate=0.4 --lr_policy=poly --warmup_epochs=4 --weight_decay=0.0005 "
       "--label_smoothing=0.1 --mean=113.9,123.0,125.3 --std=66.7,62.1,63.0 --shuffle"},
      {"stl10_resnet18", "resnet50_trainer", "ResNet-18 on STL-10, 100 epochs",
       "not run here on STL-10; 5 iterations on 300 photographs in ten folders",
       "--model=resnet18 --small_stem --image_size=96 --image_scale=108 --num_labels=10 "
       "--num_epochs=100 --epoch_size=0 --batch_size=64 --lr_batch_size=64 "
       "--base_learning_rate=0.05 --lr_policy=cosine --warmup_epochs=5 --weight_decay=0.0005 "
       "--label_smoothing=0.1 --mean=103.6,112.2,114.0 --std=66.3,65.2,66.4 --shuffle"},
      {"imagenet_resnet50_90", "resnet50_trainer", "ResNet-50 on ImageNet, 90 epochs",
       "not run here on ImageNet; 1 iteration on 300 of its photographs",
       "--model=resnet50 --image_size=224 --num_labels=1000 --num_epochs=90 --epoch_size=0 "
       "--batch_size=32 --lr_batch_size=256 --base_learning_rate=0.1 --lr_steps=30,60,80 "
       "--warmup_epochs=5 --weight_decay=0.0001 --zero_init_residual --random_resized_crop "
       "--mean=103.5,116.3,123.7 --std=57.4,57.1,58.4 --shuffle"},
      {"imagenet_resnet50_fast", "resnet50_trainer", "ResNet-50 on ImageNet, 30 epochs",
       "not run here on ImageNet; 5 iterations on 300 of its photographs",
       "--model=resnet50 --image_size=224 --num_labels=1000 --num_epochs=30 --epoch_size=0 "
       "--batch_size=32 --lr_batch_size=256 --base_learning_rate=0.1 --lr_policy=cosine "
       "--warmup_epochs=3 --weight_decay=0.00005 --label_smoothing=0.1 --zero_init_residual "
       "--random_resized_crop --mean=103.5,116.3,123.7 --std=57.4,57.1,58.4 --shuffle"},
  };
  return recipes;
}

const Recipe& FindRecipe(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Recipe& recipe : Recipes()) {
    if (name == recipe.name) return recipe;
    names.push_back(recipe.name);
    list += std::string(list.empty() ? "" : ", ") + recipe.name;
  }
  const std::string closest = ClosestWord(name, names);
  ThrowUsage("there is no recipe \"", name, "\"",
             closest.empty() ? "" : "; do you mean " + closest + "?", " (known: ", list, ")");
}

std::string RecipeFlags(const std::string& name, const std::string& program) {
  const Recipe& recipe = FindRecipe(name);
  CheckUsage(program == recipe.program, "--recipe ", name, " is for ", recipe.program, ", not for ",
             program);
  return recipe.flags;
}

}  // namespace caffe2
