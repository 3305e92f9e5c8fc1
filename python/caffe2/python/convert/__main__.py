"""python -m caffe2.python.convert: the command `doppio convert`."""

import sys

from caffe2.python.convert.convert_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
