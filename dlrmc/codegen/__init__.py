"""From kernel bodies to CUDA text."""
