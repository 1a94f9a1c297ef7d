"""Rewrites of the IR, in the order that pipeline.py gives."""
