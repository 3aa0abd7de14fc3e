"""Command line: ``python -m latentia``."""

from .cli import main

if __name__ == "__main__":
    main()
