"""Quantizers: floats as small integers, or as floats of 8 bits, and back."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.weights.quantizers.abs_max import abs_max_quantize as abs_max_quantize
    from tfkit.src.weights.quantizers.abs_max import (
        abs_max_quantize_grouped_with_zero_point as abs_max_quantize_grouped_with_zero_point,
    )
    from tfkit.src.weights.quantizers.base import AbsMaxQuantizer as AbsMaxQuantizer
    from tfkit.src.weights.quantizers.base import Quantizer as Quantizer
    from tfkit.src.weights.quantizers.configs import (
        Float8QuantizationConfig as Float8QuantizationConfig,
    )
    from tfkit.src.weights.quantizers.configs import (
        Int4QuantizationConfig as Int4QuantizationConfig,
    )
    from tfkit.src.weights.quantizers.configs import (
        Int8QuantizationConfig as Int8QuantizationConfig,
    )
    from tfkit.src.weights.quantizers.configs import QuantizationConfig as QuantizationConfig
    from tfkit.src.weights.quantizers.fake import (
        fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    )
    from tfkit.src.weights.quantizers.float8 import (
        compute_float8_amax_history as compute_float8_amax_history,
    )
    from tfkit.src.weights.quantizers.float8 import compute_float8_scale as compute_float8_scale
    from tfkit.src.weights.quantizers.float8 import (
        quantize_and_dequantize as quantize_and_dequantize,
    )
    from tfkit.src.weights.quantizers.int4 import pack_int4 as pack_int4
    from tfkit.src.weights.quantizers.int4 import unpack_int4 as unpack_int4
    from tfkit.src.weights.quantizers.lookup import deserialize as deserialize
    from tfkit.src.weights.quantizers.lookup import get as get
    from tfkit.src.weights.quantizers.lookup import serialize as serialize

_later.offer(__name__)
