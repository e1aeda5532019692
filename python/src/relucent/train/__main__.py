import sys

from relucent.train.cli import main

sys.exit(main())
