"""The command `pairforge`."""

import sys

from ._pairforge import command


def main() -> int:
    """Runs the command line of this process, and gives its exit status."""
    return command(["pairforge", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
