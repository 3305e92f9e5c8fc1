"""The flags that the programs share which time us and a peer in turns."""

import argparse


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
