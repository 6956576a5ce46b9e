"""The names of the documents and groups in a file of tfkit."""

CONFIG = "config"
COMPILE = "compile"
WEIGHTS = "weights"
OPTIMIZER = "optimizer"
INNER_OPTIMIZERS = "inner_optimizers"
METRICS = "metrics"
# Documents: the names of the layers, and their `lora_alpha`.
NAMES = "names"
LORA = "lora"
