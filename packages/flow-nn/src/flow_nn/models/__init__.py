"""Models people recognise."""
