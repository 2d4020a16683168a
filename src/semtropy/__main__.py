"""`python -m semtropy` is the command `semtropy`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
