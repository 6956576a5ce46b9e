"""Metrics, and their choice by name and shapes."""
