"""Functions in terms of ops: they need no kernel, derivative or sharding rule of their own."""
