"""What maintains the project: generated docs, pictures, and what the Makefile asks. Not part of the package."""
