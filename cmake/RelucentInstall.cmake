# Nothing to install until the rooms exist.
