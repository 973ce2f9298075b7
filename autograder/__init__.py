"""An exercise kit for attention, and the autograder that judges it.

Importing this package is cheap on purpose: neither torch, nor nbgrader, nor
pytest is imported until something needs it, because students import it in
every notebook.
"""

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "compare_with_library",
    "open_exercise",
    "pytorch_attention",
    "show_attention",
    "show_costs",
    "show_example",
    "show_numbers",
    "speak",
    "train",
]


def __getattr__(name: str) -> object:
    if name == "open_exercise":
        from autograder.learning.notebook_check import open_exercise

        return open_exercise
    if name in (
        "compare_with_library",
        "pytorch_attention",
        "show_attention",
        "show_example",
        "show_numbers",
    ):
        from autograder.learning import notebook_layer

        return getattr(notebook_layer, name)
    if name == "speak":
        from autograder.play.training_cell import speak

        return speak
    if name in ("show_costs", "train"):
        from autograder.play import training_cell

        return getattr(training_cell, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
