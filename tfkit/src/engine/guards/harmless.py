"""Lists operations that XLA compiles and whose kernels on the CPU refuse no values.

Three things do not count as values: shapes that XLA refuses too; arguments that XLA must know when it
compiles (axes, sizes, paddings, algorithms of random numbers), because it then refuses the same ones; and
the shapes of operations that only TensorFlow's own gradients use (`ReluGrad`), which are always equal.
"""

from __future__ import annotations

_ALONE = """
    Abs Acos Acosh Add AddN AddV2 AdjustContrastv2 AdjustHue AdjustSaturation All Angle Any
    ApproxTopK ApproximateEqual ArgMax ArgMin Asin Asinh AssignAddVariableOp AssignSubVariableOp
    AssignVariableOp AssignVariableXlaConcatND Atan Atan2 Atanh AvgPool AvgPool3D AvgPool3DGrad
    AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchToSpace BatchToSpaceND BesselI0e
    BesselI1e Betainc BiasAdd BiasAddGrad BiasAddV1 Bitcast BitwiseAnd BitwiseOr BitwiseXor
    BroadcastArgs BroadcastGradientArgs Bucketize Cast Ceil Cholesky ClipByValue
    CollectiveAssignGroupV2 CollectiveReduceV2 Complex ComplexAbs Concat ConcatOffset ConcatV2 Conj
    ConjugateTranspose Const ControlTrigger Conv Conv2D Conv2DBackpropFilter Conv2DBackpropInput
    Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Cos Cosh Cross Cumprod Cumsum
    CumulativeLogsumexp DataFormatDimMap DataFormatVecPermute DepthToSpace DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Dequantize DeviceIndex
    Diag DiagPart Digamma DivNoNan DynamicStitch Elu EluGrad Empty EmptyTensorList EnsureShape Equal
    Erf Erfc Erfinv Exp ExpandDims Expm1 ExtractImagePatches FFT FFT2D FFT3D FakeParam
    FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars
    FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel
    FakeQuantWithMinMaxVarsPerChannelGradient Fill Floor FusedBatchNorm FusedBatchNormGrad
    FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 Greater GreaterEqual
    HSVToRGB IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D Identity IdentityN Igamma IgammaGradA
    Imag InTopKV2 Inv Invert IsFinite IsInf IsNan L2Loss LRN LRNGrad LeakyRelu LeakyReluGrad
    Less LessEqual Lgamma LinSpace ListDiff Log Log1p LogSoftmax LogicalAnd LogicalNot
    LogicalOr MatMul MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2
    MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixTriangularSolve Max MaxPool
    MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2
    MaxPoolGradV2 MaxPoolV2 Maximum Mean Min Minimum MirrorPad MirrorPadGrad Mul MulNoNan Ndtri Neg
    NextAfter NoOp NotEqual OneHot OnesLike Pack Pad PadV2 ParallelDynamicStitch
    PlaceholderWithDefault Polygamma PopulationCount PreventGradient Prod Qr RFFT RFFT2D RFFT3D
    RGBToHSV RandomGammaGrad RandomShuffle RandomStandardNormal RandomUniform Range Rank
    ReadVariableOp ReadVariableXlaSplitND Real RealDiv Reciprocal ReciprocalGrad Relu Relu6
    Relu6Grad ReluGrad Reshape ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor
    ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA
    ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAddSign ResourceApplyCenteredRMSProp
    ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum
    ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyProximalGradientDescent
    ResourceApplyRMSProp ResourceStridedSliceAssign Reverse ReverseV2 Rint RngReadAndSkip
    RngSkip Roll Round Rsqrt RsqrtGrad SegmentMaxV2 SegmentMinV2 SegmentProdV2 SegmentSumV2 Select
    SelectV2 Selu SeluGrad Shape ShapeN Sigmoid SigmoidGrad Sign Sin Sinh Size Snapshot Softmax
    SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad SpaceToBatch
    SpaceToBatchND SpaceToDepth SparseMatMul Split SplitV Sqrt SqrtGrad Square SquaredDifference
    Squeeze StackCloseV2 StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform
    StatefulUniformFullInt StatelessRandomGetAlg StatelessRandomGetKeyCounter
    StatelessRandomGetKeyCounterAlg StatelessRandomNormal StatelessRandomNormalV2
    StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
    StatelessRandomUniformV2 StatelessTruncatedNormal StatelessTruncatedNormalV2 StochasticCastToInt
    StopGradient Sub Sum Svd Tan Tanh TanhGrad TensorArrayCloseV3 TensorArraySizeV3 TensorArrayV3
    TensorListConcatV2 TensorListElementShape TensorListLength TensorListReserve
    TensorStridedSliceUpdate Tile ToBool Transpose TridiagonalMatMul TridiagonalSolve
    TruncatedNormal Unpack VarIsInitializedOp VariableShape Where Xdivy Xlog1py Xlogy ZerosLike Zeta
    _Arg _ArrayToList _EagerConst _FusedBatchNormEx _FusedConv2D _ListToArray _Retval
    _UnaryOpsComposition
"""

# Functions, whose contents are checked separately.
_CALLS = """
    Case If PartitionedCall StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile While
    XlaCallModule XlaIf XlaWhile
"""

# Their kernels are XLA's own.
_XLA = """
    XlaAllReduce XlaBroadcastHelper XlaConcatND XlaConv XlaConvV2 XlaCustomCall XlaCustomCallV2
    XlaDequantize XlaDot XlaDotV2 XlaDynamicSlice XlaDynamicUpdateSlice XlaEinsum XlaGather
    XlaKeyValueSort XlaOptimizationBarrier XlaPad XlaRecv XlaReduce XlaReducePrecision
    XlaReduceScatter XlaReduceWindow XlaRemoveDynamicDimensionSize XlaReplicaId XlaRngBitGenerator
    XlaScatter XlaSelectAndScatter XlaSelfAdjointEig XlaSend XlaSetBound XlaSetDynamicDimensionSize
    XlaSharding XlaSort XlaSplitND XlaSpmdFullToShardShape XlaSpmdShardToFullShape XlaSvd
    XlaVariadicReduce XlaVariadicReduceV2 XlaVariadicSort _XlaAotOnlyVarHandleOp
"""

# Nothing can be popped from an empty list or pushed to a full one; but XLA cannot read the length.
# Gradients of loops, which use these, pop what they have pushed and have room for all iterations. XLA does
# not compile lists without a limit, as AutoGraph makes them.
_LISTS = "TensorListPopBack TensorListPushBack"

HARMLESS = frozenset(f"{_ALONE} {_CALLS} {_XLA} {_LISTS}".split())
