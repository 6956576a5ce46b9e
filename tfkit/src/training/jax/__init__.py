"""`compile(engine="jax")`: steps that JAX compiles, differentiates and runs."""
