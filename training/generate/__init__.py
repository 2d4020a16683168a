"""Pairs made by rule, where nobody has published any: each module is one kind of difference between answers."""
