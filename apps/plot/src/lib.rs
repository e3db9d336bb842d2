//! Figures as SVG: latency against offered load, times as box plots and by their parts, and values over time or load.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests panic to fail"))]

mod bars;
mod legend;
mod load;
mod over_time;
#[cfg(test)]
mod overlap;
mod spread;

use plotters::coord::Shift;
use plotters::prelude::*;

pub use bars::{Bar, bars};
pub use load::{Line, Point, latency_by_load};
pub use over_time::{Panel, Series, over, over_load, over_time};
pub use spread::{Spread, bit_rate_spreads, rate_spreads, ratio_spreads, spreads};

/// A figure that could not be drawn.
pub type PlotError = Box<dyn std::error::Error + Send + Sync>;

/// The division of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences; the axis begins at zero.
    Linear,
    /// Equal distances are equal ratios.
    Logarithmic,
}

/// Colours that are distinguishable with any colour vision (after Okabe and Ito).
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(136, 34, 85),
    RGBColor(128, 128, 128),
];

/// Colour of grid lines.
const GRID: RGBColor = RGBColor(228, 228, 228);

fn colour(series: usize) -> RGBColor {
    COLOURS[series % COLOURS.len()]
}

/// Returns text of this size.
fn font(size: u32) -> (&'static str, u32) {
    ("sans-serif", size)
}

/// Returns a width in pixels that holds a text of this size, with whichever font without serifs it is shown.
fn width_of(text: &str, size: u32) -> i32 {
    (0.6 * f64::from(size) * text.chars().count() as f64).ceil() as i32
}

/// Returns a drawing of this size, as text.
fn svg(
    width: u32,
    height: u32,
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), PlotError>,
) -> Result<String, PlotError> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
    root.fill(&WHITE)?;
    draw(&root)?;
    root.present()?;
    drop(root);
    Ok(text)
}

/// Returns the ends of a logarithmic axis around these values; values that are not above zero have no place
/// on it.
fn logarithmic(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = values
        .filter(|value| value.is_finite() && *value > 0.0)
        .fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    // Without any value, there is still an empty figure to draw.
    if high > 0.0 { low * 0.8..high * 1.25 } else { 1.0..10.0 }
}

/// Returns the values that a logarithmic axis marks: 1, 2 and 5 of each decade, or the decades alone if there are more than three.
fn marks(values: &std::ops::Range<f64>) -> Vec<f64> {
    let decades = values.start.log10().floor() as i32..=values.end.log10().ceil() as i32;
    let of_decade: &[f64] = if values.end / values.start > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = decades.flat_map(|decade| of_decade.iter().map(move |part| part * 10_f64.powi(decade)));
    all.filter(|value| values.contains(value)).collect()
}

/// Returns the end of a linear axis from zero, a little above these values.
fn linear(values: impl Iterator<Item = f64>) -> f64 {
    let high = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if high > 0.0 { high * 1.05 } else { 1.0 }
}

/// Formats a number with at most three decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 20.0, 2.5, 0.125, -1e-9].map(number), ["0", "20", "2.5", "0.125", "0"]);
    }

    #[test]
    fn an_axis_marks_a_few_round_values() {
        assert_eq!(marks(&(4.0..60.0)), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(marks(&(4.0..60_000.0)), [10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn nothing_at_all_still_has_an_axis() {
        assert_eq!(logarithmic([f64::NAN, 0.0].into_iter()), 1.0..10.0);
        assert!(linear(std::iter::empty()) > 0.0);
    }
}
