"""Start the zygote from a scrubbed environment: `python -s -P -B -u this-file <socket>`.

It is started by its path, never by name, so that neither an installed copy nor
the current directory decides which code becomes the zygote.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from autograder.worker.zygote_main import main

if __name__ == "__main__":
    main(int(sys.argv[1]))
