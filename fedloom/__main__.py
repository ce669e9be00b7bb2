"""`python -m fedloom` is the `fedloom` command."""

import sys
from pathlib import Path

# `-m` puts the current folder first on the path, where a user's `clients.py` would be taken for our package: ours goes before it.
if not sys.flags.safe_path and (ours := Path(__file__).resolve().parents[1]) != Path.cwd():
    sys.path += [str(ours), sys.path.pop(0)]

from fedloom.cli.main import main

sys.exit(main())
