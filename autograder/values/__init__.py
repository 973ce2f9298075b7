"""The values that packages pass on: exercise, request, verdict; and how text is made safe."""
