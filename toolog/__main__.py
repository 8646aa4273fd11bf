"""``python -m toolog`` is the command ``toolog``, where that is not on the path."""

from toolog.cli import main

if __name__ == "__main__":
    main()
