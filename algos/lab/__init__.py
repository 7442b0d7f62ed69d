"""The estimator lab: small tabular problems whose gradients are known exactly, played by the real harness."""
