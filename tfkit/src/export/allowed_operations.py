"""Lists the TensorFlow operations that only compute.

An operation that TensorFlow calls stateless returns results and changes nothing, but some still read files
and are refused by name. An operation with a state may do anything, so only those that are known are
allowed: variables, tables, lists, random numbers, control flow.
"""

from __future__ import annotations

import re
from typing import Any

from tfkit.src.borrowed.private import op_def_registry

# By name, so that later versions of an operation are refused as well. Besides the obvious ones: operations on
# protocol messages read descriptors from files, debug operations write to URLs, some samplers read
# vocabularies, XLA calls name functions in the process.
_REFUSED = re.compile(
    r"PyFunc|File|Dataset|Iterator|Reader|RecordInput|ImportEvent|Summary|Snapshot|Dump|Debug|^Copy(Host)?$"
    r"|ImmutableConst|VocabRemapping|LoadAndRemap|UnigramCandidateSampler|Skipgram|codeProto"
    r"|Rpc|RemoteCall|Bigtable|Sql|Collective|^_?(Host)?Send$|^_?(Host)?Recv$|TPU|Tpu|TRT|Worker"
    r"|XlaCallModule|XlaCustomCall|XlaHost|XlaLaunch|XlaCompile|Mlir|Abort|Save|Restore|Checkpoint"
)
_STATEFUL = re.compile(
    # Control flow and checks; they print to the streams of the process.
    r"Assert|Case|If|While|StatefulPartitionedCall|CheckNumerics(V2)?|Print(V2)?|DeviceIndex|GuaranteeConst"
    # Variables.
    r"|(Anonymous)?Var(iable)?(V2|HandleOp|IsInitializedOp)?|VariableShape|(Read|Assign(Add|Sub)?)VariableOp"
    r"|DestroyResourceOp|DisableCopyOnRead|TemporaryVariable|Empty|ResourceCountUpTo|ResourceStridedSliceAssign"
    r"|Resource(Sparse)?Apply\w+|ResourceGather(Nd)?|ResourceScatter(Nd)?(Add|Div|Max|Min|Mul|Sub|Update)"
    # Tables; those that are read from a file are checked separately.
    r"|(Anonymous)?(Mutable)?(Dense)?HashTable(OfTensors)?(V2)?|InitializeTable(V2)?|LookupTable\w+"
    # Lists.
    r"|Stack(Push|Pop|Close)?(V2)?|TensorArray\w*"
    # Random numbers.
    r"|(All|LogUniform|Uniform)CandidateSampler|Multinomial|NonDeterministicInts|ParameterizedTruncatedNormal"
    r"|Random(Crop|Gamma|Poisson(V2)?|Shuffle|StandardNormal|Uniform(Int)?)|TruncatedNormal|Rng(ReadAnd)?Skip"
    r"|SampleDistortedBoundingBox(V2)?|StatelessRandomGetAlg"
    r"|Stateful(RandomBinomial|StandardNormal(V2)?|TruncatedNormal|Uniform(FullInt|Int)?)"
    # The clock; recurrent layers on another device.
    r"|Timestamp|CudnnRNN\w*"
)


def is_allowed(operation: str) -> bool:
    """Whether an operation only computes; operations unknown to TensorFlow are not allowed.

    Operations that save, restore, or read a table from a file depend on their context: not allowed.
    """
    definition: Any = op_def_registry.get(operation)
    # Names are searched for parts, so that an operation of a later version is refused rather than
    # allowed.
    if definition is None or _REFUSED.search(operation):
        return False
    # An operation without state only computes; one with state is allowed if its full name is listed.
    return not definition.is_stateful or _STATEFUL.fullmatch(operation) is not None
