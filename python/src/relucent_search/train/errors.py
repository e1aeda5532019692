"""The one exception for bad input."""


class TrainingError(ValueError):
    """Names the file (and line or key), what is wrong there, and the remedy."""

    def __init__(self, where: object, problem: str, remedy: str = ""):
        super().__init__(f"{where}: {problem}" + (f"; {remedy}" if remedy else ""))
