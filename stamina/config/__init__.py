"""Sweep files: TOML in, frozen values out."""
