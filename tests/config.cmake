# Tests of the room `config`.
