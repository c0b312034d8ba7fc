"""Recorded traffic: files to columns, and columns to text."""
