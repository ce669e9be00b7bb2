"""`python -m simulation` is the `fedloom` command."""

import sys

from fedloom.cli.main import main

sys.exit(main())
