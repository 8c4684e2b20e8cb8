"""Real clients as they are, one module for each library; a module is imported when it is run."""
