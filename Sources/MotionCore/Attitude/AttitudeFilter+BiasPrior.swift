// The bias before the first rest: movements reveal the part about the vertical last and worst.
extension AttitudeFilter {
    /// Gives the bias about the present vertical a narrower prior than the other two directions.
    ///
    /// A horizontal bias tilts the attitude and is found within seconds. A vertical one turns the heading, which nothing
    /// measures, so its estimate would follow every disturbance.
    mutating func trustVerticalBias() {
        guard !rest.hasRested, verticalBiasPrior == 0 else { return }
        verticalBiasPrior = min(parameters.initialVerticalBias, parameters.initialBias)
        verticalAtStart = strapdown.attitude.unrotate(Vector3(0, 0, 1))
        let wide = parameters.initialBias * parameters.initialBias
        let difference = wide - verticalBiasPrior * verticalBiasPrior
        for a in 0..<3 {
            for b in a..<3 {
                let shared = difference * verticalAtStart[a] * verticalAtStart[b]
                covariance.setCovariance(Float((a == b ? wide : 0) - shared), ErrorState.bias(a), ErrorState.bias(b))
            }
        }
    }

    /// Widens that prior if the bias about any axis turns out to be large: such a chip has a large one about the others.
    ///
    /// A prior of variance s² is replaced by one of s'² with the measurement "no bias" of the negative variance
    /// 1/(1/s'² - 1/s²), which is exact as long as the filter is linear.
    mutating func widenBiasPrior() {
        guard verticalBiasPrior > 0, !rest.hasRested else { return }
        var largest = 0.0
        for axis in 0..<3 {
            let deviation = Double(covariance.variance(ErrorState.bias(axis))).squareRoot()
            let size = abs(strapdown.bias[axis])
            if size - 2 * deviation > parameters.largeBiasRatio * verticalBiasPrior { largest = max(largest, size) }
        }
        guard largest > 0 else { return }
        let wider = max(largest, 1.2 * verticalBiasPrior)
        let old = verticalBiasPrior * verticalBiasPrior
        let new = wider * wider
        let correction = covariance.widenBias(
            along: verticalAtStart, bias: strapdown.bias, variance: old * new / (new - old))
        verticalBiasPrior = wider
        applyCorrection(correction)
    }
}
