"""The smoke test of a release, from a checkout and without an install: same arguments as the module."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from xldocbench.quickstart import main

if __name__ == "__main__":
    sys.exit(main())
