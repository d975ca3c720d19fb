"""CUBE profiles of Score-P and Scalasca."""
