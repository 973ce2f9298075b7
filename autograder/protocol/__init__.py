"""What both sides of the sandbox speak: frames, arrays, calls. It holds no secret."""
