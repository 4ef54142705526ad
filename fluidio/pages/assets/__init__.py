"""The scripts, style sheets and texts that pages are made of."""
