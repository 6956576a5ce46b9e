"""Distillation: a small model learns from the outputs and features of a large one."""
