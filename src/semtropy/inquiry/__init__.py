"""The sampling loop (`loop`), what is known after each round (`steps`), and the verdict at its end (`conclusion`)."""
