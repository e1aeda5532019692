import sys

from relucent_search.train.cli import main

sys.exit(main())
