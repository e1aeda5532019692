"""Training of the sparse cross-encoders that Relucent runs (docs/training.md)."""
