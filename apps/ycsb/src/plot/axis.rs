//! From values to positions, and where the ticks are.

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences; begins at zero.
    Linear,
    /// Equal distances are equal ratios.
    Logarithmic,
}

/// One axis with its range and its ticks.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// Where its ticks are.
    pub ticks: Vec<f64>,
}

/// About so many steps on a linear axis.
const STEPS: f64 = 6.0;

impl Axis {
    /// The narrowest axis with round ends that shows all `values`; those that are not above zero have no place on a
    /// logarithmic one.
    pub fn around(values: impl Iterator<Item = f64>, scale: Scale) -> Self {
        let shown = values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (low, high) = shown.fold((f64::MAX, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        // Without any value, there is still an empty diagram to draw.
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 1.0) };
        match scale {
            Scale::Linear => Self::linear(high),
            Scale::Logarithmic => Self::logarithmic(low, high),
        }
    }

    fn linear(high: f64) -> Self {
        let step = rounded_up(high / STEPS);
        let count = (high / step - 1e-9).ceil().max(1.0) as u32;
        let ticks: Vec<f64> = (0..=count).map(|i| f64::from(i) * step).collect();
        Self { scale: Scale::Linear, low: 0.0, high: f64::from(count) * step, ticks }
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let round: Vec<f64> = (-6..=12).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(e))).collect();
        let begin = round.iter().rposition(|tick| *tick <= low).unwrap_or(0);
        let end = round.iter().position(|tick| *tick >= high).unwrap_or(round.len() - 1).max(begin + 1);
        let end = end.min(round.len() - 1);
        let ticks = round[begin..=end].to_vec();
        // Labels at 1, 2 and 5 crowd an axis of many decades.
        let sparse = ticks.len() > 13;
        let is_decade = |tick: &f64| tick.log10().fract().abs() < 1e-9;
        Self {
            scale: Scale::Logarithmic,
            low: round[begin],
            high: round[end],
            ticks: if sparse { ticks.into_iter().filter(is_decade).collect() } else { ticks },
        }
    }

    /// Where `value` lies, from 0 at the low end to 1 at the high end.
    pub fn position(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// The high end.
    pub fn high(&self) -> f64 {
        self.high
    }
}

/// The least of 1, 2, 2.5 and 5 times a power of ten that is no less than `value`.
fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 2.5, 5.0].map(|m| m * power).into_iter().find(|step| *step >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_begin_at_zero_and_end_round() {
        let axis = Axis::around([30.0, 100.0].into_iter(), Scale::Linear);
        assert_eq!(axis.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((axis.position(0.0), axis.position(25.0), axis.position(100.0)), (0.0, 0.25, 1.0));
    }

    #[test]
    fn logarithmic_axes_enclose_their_values() {
        let axis = Axis::around([0.0, 30.0, 1800.0].into_iter(), Scale::Logarithmic);
        assert_eq!(axis.ticks, [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!((axis.position(20.0), axis.position(2000.0)), (0.0, 1.0));
        assert!((axis.position(200.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_at_all_still_has_an_axis() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let axis = Axis::around([f64::NAN, 0.0].into_iter(), scale);
            assert!(axis.high() >= 1.0 && axis.ticks.len() >= 2);
            assert!(axis.position(axis.high()).is_finite());
        }
    }
}
