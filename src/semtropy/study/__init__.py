"""Studies, as three programs: `generate` recordings, `evaluate` estimators on them, `calibrate` their scores."""
