"""`python -m crestline` is the command `crestline`."""

from crestline.cli.main import main

if __name__ == "__main__":
    main()
