# Tests of the room `index_tools`.
