# Tests of the room `plugin`.
