"""Parameters of models, their initializers, and modifiers of nets."""
