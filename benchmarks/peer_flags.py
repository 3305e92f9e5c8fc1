"""What the programs that time us and a peer in turns have in common."""

import argparse
import os


def parser_of(description, min_seconds):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default="build/release/bin", help="our programs")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--min_seconds", type=float, default=min_seconds)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefix", default="", help="put before every command")
    return parser


def our_command(args, program, batch, dtype):
    """Starts one of our programs; flags may follow."""
    return [os.path.join(args.bin, program), "--batch", str(batch), "--dtype", dtype,
            "--min_seconds", str(args.min_seconds)]
