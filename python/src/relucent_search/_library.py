"""The compiled part of the package, or an error that states how to get it."""
try:
    import relucent_search._native as native
except ModuleNotFoundError as error:
    if error.name != "relucent_search._native":
        raise
    raise ModuleNotFoundError(
        "this copy of relucent_search has no compiled library, only relucent_search.train; "
        "install it with pip install ./python",
        name=error.name) from None

__all__ = ["native"]
