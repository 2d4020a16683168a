"""Compiled forms of the hottest loops of `semtropy.entropy`; empty where no compiler was at hand."""
