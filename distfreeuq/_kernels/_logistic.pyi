from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray

def _sum_linear_nll(
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    coef: FloatMatrix,
    bias: FloatArray,
    sums: FloatMatrix,
    threads: int,
) -> None: ...
def _sum_linear_products(
    scores: bool,
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    coef: FloatMatrix,
    bias: FloatArray,
    sums: FloatArray,
    threads: int,
) -> None: ...
def _linear_softmax(
    logits: FloatMatrix,
    coef: FloatMatrix,
    bias: FloatArray,
    out: FloatMatrix,
    blocks: int,
    threads: int,
) -> None: ...
def _sum_logistic_losses(
    design: FloatMatrix,
    targets: FloatArray,
    weights: FloatMatrix,
    parameters: FloatMatrix,
    sums: FloatArray,
    threads: int,
) -> None: ...
