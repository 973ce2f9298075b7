"""The values that everything passes on: exercise, request, verdict; and how text is made safe."""
