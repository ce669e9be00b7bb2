"""`python -m simulation` is the `fedloom` command."""

import sys

from simulation.cli import main

sys.exit(main())
