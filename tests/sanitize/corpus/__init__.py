"""Labelled cases of our own: what must be hidden, and clean look-alikes that must not be touched."""
