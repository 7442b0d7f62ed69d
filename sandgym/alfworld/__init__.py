"""ALFWorld: household tasks in text, played from the official game files without TextWorld."""
