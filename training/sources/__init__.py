"""Data made by others: each module yields pairs for one side of the split."""
