"""Makes the built-in judge: data, training, export, quantisation, calibration, evaluation. See README.md."""
