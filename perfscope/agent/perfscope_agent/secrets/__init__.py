"""What is a secret: by its name, its form and the words around it."""
