"""Training of the sparse cross-encoders and MixEncoders that Relucent runs (docs/training.md)."""
