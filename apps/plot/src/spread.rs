//! Times and ratios as box plots, one below the other.

use super::{GRID, PlotError, colour, font, logarithmic, marks, svg, width_of};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// The distribution of a kind of time, in microseconds, of a ratio, or of a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    name: String,
    /// The 5th, 25th, 50th, 75th and 95th percentile.
    percentiles: [f64; 5],
}

impl Spread {
    /// Returns the distribution of these values; `None` if there are none.
    pub fn of(name: &str, times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let percentiles =
            [0.05, 0.25, 0.5, 0.75, 0.95].map(|part| sorted[(part * last as f64).round() as usize]);
        Some(Self { name: name.to_owned(), percentiles })
    }
}

/// Width of the figure, its size of text, and the height of a row and of the space above and below the rows, in pixels.
const WIDTH: u32 = 900;
const SIZE: u32 = 13;
const ROW: i32 = 26;
const ABOVE: i32 = 44;
const BELOW: i32 = 36;

/// Half the height of a box, and of the ends of its whiskers.
const BOX: i32 = 7;
const END: i32 = 4;

/// Least distance between two texts below the axis.
const BETWEEN: i32 = 8;

/// The space for the median at the right.
const MEDIAN: i32 = 80;

/// Draws a box for each distribution in a row of its own, from the 25th to the 75th percentile with a line at the median, and
/// whiskers to the 5th and the 95th; its name stands at the left, and its median at the right. The axis is logarithmic.
///
/// # Errors
/// [`PlotError`] if the boxes can't be drawn.
pub fn spreads(title: &str, spreads: &[Spread]) -> Result<String, PlotError> {
    draw_all(title, spreads, time)
}

/// Draws distributions of ratios as [`spreads`] does those of times.
///
/// # Errors
/// [`PlotError`] if the boxes can't be drawn.
pub fn ratio_spreads(title: &str, spreads: &[Spread]) -> Result<String, PlotError> {
    draw_all(title, spreads, |ratio| format!("{} x", digits(ratio)))
}

/// Draws distributions of rates in megabytes per second as [`spreads`] does those of times.
///
/// # Errors
/// [`PlotError`] if the boxes can't be drawn.
pub fn rate_spreads(title: &str, spreads: &[Spread]) -> Result<String, PlotError> {
    draw_all(title, spreads, rate)
}

/// Draws distributions of rates in megabits per second as [`spreads`] does those of times.
///
/// # Errors
/// [`PlotError`] if the boxes can't be drawn.
pub fn bit_rate_spreads(title: &str, spreads: &[Spread]) -> Result<String, PlotError> {
    draw_all(title, spreads, |rate| format!("{} Mbit/s", digits(rate)))
}

fn draw_all(title: &str, spreads: &[Spread], text: fn(f64) -> String) -> Result<String, PlotError> {
    let names = spreads.iter().map(|spread| width_of(&spread.name, SIZE)).max().unwrap_or_default();
    let rows = spreads.len() as i32;
    let axis = Axis {
        times: logarithmic(spreads.iter().flat_map(|spread| spread.percentiles)),
        pixels: 24 + names..WIDTH as i32 - MEDIAN,
        rows: ABOVE..ABOVE + rows * ROW,
        text,
    };
    svg(WIDTH, (ABOVE + rows * ROW + BELOW) as u32, |root| {
        let title = format!("{title}: 5th, 25th, 50th, 75th and 95th percentile");
        root.draw_text(&title, &centred(17), (WIDTH as i32 / 2, 12))?;
        axis.draw(root)?;
        for (row, spread) in spreads.iter().enumerate() {
            axis.draw_spread(root, row, spread)?;
        }
        Ok(())
    })
}

/// Returns the style of text of this size around a place.
fn centred(size: u32) -> TextStyle<'static> {
    font(size).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top))
}

/// The axis of times or ratios, the rows above it, and the format of values.
struct Axis {
    times: Range<f64>,
    pixels: Range<i32>,
    rows: Range<i32>,
    text: fn(f64) -> String,
}

impl Axis {
    fn x(&self, time: f64) -> i32 {
        let Self { times, pixels, .. } = self;
        let part = (time / times.start).ln() / (times.end / times.start).ln();
        pixels.start + (part * f64::from(pixels.end - pixels.start)) as i32
    }

    fn draw(&self, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), PlotError> {
        let Self { pixels, rows, .. } = self;
        let mut free = 0;
        for time in marks(&self.times) {
            let x = self.x(time);
            root.draw(&PathElement::new([(x, rows.start), (x, rows.end)], GRID))?;
            let text = (self.text)(time);
            let half = width_of(&text, SIZE) / 2;
            // A value without room for its text has a line alone.
            if x - half >= free {
                root.draw_text(&text, &centred(SIZE), (x, rows.end + 8))?;
                free = x + half + BETWEEN;
            }
        }
        root.draw(&PathElement::new([(pixels.start, rows.end), (pixels.end, rows.end)], BLACK))?;
        root.draw_text(
            "median",
            &font(SIZE).into_font().color(&BLACK),
            (pixels.end + 10, rows.start - SIZE as i32),
        )?;
        Ok(())
    }

    fn draw_spread(
        &self,
        root: &DrawingArea<SVGBackend<'_>, Shift>,
        row: usize,
        spread: &Spread,
    ) -> Result<(), PlotError> {
        let y = self.rows.start + row as i32 * ROW + ROW / 2;
        let style = colour(row).stroke_width(2);
        let [p5, p25, p50, p75, p95] = spread.percentiles.map(|time| self.x(time));
        let across = |half: i32, x: i32| vec![(x, y - half), (x, y + half)];
        let lines = [
            vec![(p5, y), (p25, y)],
            vec![(p75, y), (p95, y)],
            across(END, p5),
            across(END, p95),
            across(BOX, p50),
        ];
        for line in lines {
            root.draw(&PathElement::new(line, style))?;
        }
        root.draw(&Rectangle::new([(p25, y - BOX), (p75, y + BOX)], style))?;
        let text = font(SIZE).into_font().color(&BLACK);
        root.draw_text(&spread.name, &text, (12, y - SIZE as i32 / 2))?;
        root.draw_text(
            &(self.text)(spread.percentiles[2]),
            &text,
            (self.pixels.end + 10, y - SIZE as i32 / 2),
        )?;
        Ok(())
    }
}

/// Formats microseconds with three digits, in the unit that suits them.
fn time(microseconds: f64) -> String {
    let (value, unit) = match microseconds {
        below if below < 1.0 => (below * 1e3, "ns"),
        below if below < 1e3 => (below, "µs"),
        below if below < 1e6 => (below / 1e3, "ms"),
        seconds => (seconds / 1e6, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Formats megabytes per second with three digits, in the unit that suits them.
fn rate(megabytes: f64) -> String {
    match megabytes {
        below if below < 1e3 => format!("{} MB/s", digits(below)),
        above => format!("{} GB/s", digits(above / 1e3)),
    }
}

/// Formats a value with three digits, without trailing zeros behind the point.
fn digits(value: f64) -> String {
    let decimals = match value {
        below if below < 10.0 => 2,
        below if below < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::overlapping;

    #[test]
    fn a_spread_is_its_percentiles() {
        let times: Vec<_> = (0..=100).rev().map(f64::from).collect();
        let spread = Spread::of("a", &times).unwrap();
        assert_eq!(spread.percentiles, [5.0, 25.0, 50.0, 75.0, 95.0]);
        assert_eq!(Spread::of("a", &[]), None);
    }

    #[test]
    fn each_has_a_box_its_name_and_its_median() {
        let two = ["one", "two, lines"].map(|name| Spread::of(name, &[3.0, 5.0, 40.0]).unwrap());
        let drawn = spreads("t", &two).unwrap();
        assert!(drawn.contains("one") && drawn.contains("two, lines"), "{drawn}");
        assert!(drawn.matches("5 µs").count() >= 2 && !drawn.contains("NaN"));
        assert!(spreads("t", &[]).unwrap().trim_end().ends_with("</svg>"));
    }

    #[test]
    fn ratios_have_no_unit_of_time() {
        let drawn = ratio_spreads("t", &[Spread::of("a", &[1.0, 1.5, 60.0]).unwrap()]).unwrap();
        assert!(drawn.contains("1.5 x") && drawn.contains("50 x") && !drawn.contains("µs"), "{drawn}");
    }

    #[test]
    fn no_text_overlaps_another_however_many_there_are() {
        for (count, factor) in [(1, 1.5), (2, 2.0), (18, 40.0), (18, 900.0), (40, 1e6)] {
            let spread = |at: usize| {
                let name = "resumed, with a shared key ".repeat(1 + at % 2);
                let middle = 3.0 * f64::powf(factor, at as f64 / count as f64);
                Spread::of(&name, &[middle * 0.9, middle, middle * 1.3]).unwrap()
            };
            let all: Vec<_> = (0..count).map(spread).collect();
            for draw in [spreads, rate_spreads] {
                let drawn = draw("Time to connect", &all).unwrap();
                assert_eq!(overlapping(&drawn), Vec::<String>::new(), "{count}, {factor}");
            }
        }
    }

    #[test]
    fn times_and_rates_have_the_unit_that_suits_them() {
        let times = [0.46, 5.0, 14.93, 558.2, 50_133.2, 1_340_334.0, 1e7].map(time);
        assert_eq!([9.5, 950.0, 4631.0].map(rate), ["9.5 MB/s", "950 MB/s", "4.63 GB/s"]);
        assert_eq!(times, ["460 ns", "5 µs", "14.9 µs", "558 µs", "50.1 ms", "1.34 s", "10 s"]);
    }
}
