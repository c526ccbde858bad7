"""The benchmark's own command, from a checkout and without an install: same arguments as ``xldocbench``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from xldocbench.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
