// What the Orientation of an image's Exif data says (CIPA DC-008, tag 0x112).
#pragma once

namespace caffe2::db {

// How stored pixels become the upright image: rows and columns are exchanged first, if
// `transposed`. Then each row is mirrored, if `left_right`, and the order of the rows is reversed,
// if `top_bottom`.
struct UprightSteps {
  bool transposed, left_right, top_bottom;
};

// `orientation` is from 1 (upright) to 8: 2 is mirrored left to right, 3 is rotated by 180 degrees,
// 4 is mirrored top to bottom; 5 to 8 are 1 to 4 with rows and columns exchanged.
constexpr UprightSteps UprightStepsOf(int orientation) {
  const int flips = (orientation - 1) % 4;
  return {orientation > 4, flips == 1 || flips == 2, flips == 2 || flips == 3};
}

}  // namespace caffe2::db
