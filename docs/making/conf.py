"""What Sphinx is told: `make docs`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

project = "FedLoom"
author = "The FedLoom authors"
copyright = "The FedLoom authors; Apache-2.0"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
extensions = ["myst_parser", "docs.making.mathml", "docs.making.site"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build", "making", "curves", "pictures"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
smartquotes = False  # `--flag` is no dash
html_theme = "furo"
html_title = f"FedLoom {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
