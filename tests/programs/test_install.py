"""What `cmake --install` gives: programs that run, and a package that other projects build with."""

import os

from conftest import check_output

CMAKELISTS = """
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(Doppio 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer PRIVATE Doppio::caffe2 Doppio::caffe2_image)
"""

SOURCE = """
#include <cstdio>

#include "caffe2/core/workspace.h"

int main() {
  caffe2::NetDef net;
  net.set_name("twice");
  caffe2::OperatorDef* fill = net.add_op();
  fill->set_type("ConstantFill");
  fill->add_output("x");
  caffe2::Argument* shape = fill->add_arg();
  shape->set_name("shape");
  shape->add_ints(3);
  caffe2::Argument* value = fill->add_arg();
  value->set_name("value");
  value->set_f(1.5f);
  caffe2::OperatorDef* add = net.add_op();
  add->set_type("Add");
  add->add_input("x");
  add->add_input("x");
  add->add_output("y");
  caffe2::Workspace ws;
  if (!ws.RunNetOnce(net)) return 1;
  const caffe2::Tensor& y = ws.GetBlob("y")->Get<caffe2::Tensor>();
  std::printf("%lld elements of %g\\n", static_cast<long long>(y.numel()), y.data<float>()[2]);
  return 0;
}
"""


def test_installed_programs_use_the_installed_libraries(prefix):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    programs = sorted((prefix / "bin").iterdir())
    assert len(programs) >= 12
    for program in programs:
        libraries = check_output("ldd", program, env=environment)
        assert "not found" not in libraries, program
        assert str(prefix / "lib" / "libcaffe2.so") in libraries.replace("/bin/..", "")
        listed = "Results:" if program.name == "doppio" else "Flags:"
        assert listed in check_output(program, "--help", env=environment)
    listed = check_output(prefix / "bin" / "print_registered_core_operators", env=environment)
    assert "Conv" in listed


def test_another_project_builds_with_the_package(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKELISTS)
    (tmp_path / "consumer.cc").write_text(SOURCE)
    build = tmp_path / "build"
    check_output(
        "cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"
    )
    check_output("cmake", "--build", build)
    assert check_output(build / "consumer") == "3 elements of 3\n"
