"""Models for prediction: export and import."""
