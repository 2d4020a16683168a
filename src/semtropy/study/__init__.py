"""Studies: generate, grade, evaluate, calibrate; tables, figures and reports of what was found."""
