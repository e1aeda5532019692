"""Relucent's Python package. Its parts have requirements of their own: `relucent.train` needs the extra `train`."""
