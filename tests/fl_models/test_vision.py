"""torchvision beside a torch that its native library does not fit, in code of the user's."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path


def test_torchvision_is_there_for_users_directly_and_behind_another_module(tmp_path: Path) -> None:
    (tmp_path / "wrapper.py").write_text("import torchvision\nresnet = torchvision.models.resnet18\n")
    (tmp_path / "direct.py").write_text("import torchvision\nresnet = torchvision.models.resnet18\n")
    (tmp_path / "behind.py").write_text("from wrapper import resnet\n")
    root = Path(__file__).resolve().parents[2]
    for spec in ("direct.py:resnet", "behind.py:resnet", "torchvision.models:resnet18"):
        code = f"""
            import sys
            sys.path[:0] = [{str(root)!r}, {str(tmp_path)!r}]
            from fl_models import build
            model = build({spec!r}, (3, 32, 32), 7, seed=1)
            print(model.head_names(), model.get_parameter("fc.weight").shape[0])
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.stdout.strip() == "['fc.weight', 'fc.bias'] 7", done.stderr[-2000:]
