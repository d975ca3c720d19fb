"""The parts of examples/sgan_keras.py."""
