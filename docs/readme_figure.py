"""The README's figure: run its code, which writes docs/coverage.png.

Run ``python docs/readme_figure.py`` after a change of the README's example.
"""

import contextlib
import os
import re
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run every Python block of the README in this folder."""
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    os.chdir(HERE)
    with contextlib.redirect_stdout(None):
        for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(code, namespace)
    print(f"figure: {HERE / 'coverage.png'}")


if __name__ == "__main__":
    main()
