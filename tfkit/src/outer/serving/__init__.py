"""`tfkit serve`: a server for trying exported models out, with TF Serving's REST and gRPC interface.

It runs SavedModels through TensorFlow's C library, as TF Serving does, and no Python of a model. In
production use TF Serving itself: see `export/README.md` in the repository.
"""
