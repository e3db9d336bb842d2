//! Times by their parts, as bars one below the other.

use super::legend::legend;
use super::{GRID, PlotError, colour, font, linear, number, svg, width_of};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A time in microseconds, by its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Name at the left.
    pub name: String,
    /// The parts, in the order of their names.
    pub parts: Vec<f64>,
}

/// Width of the figure, its size of text, the height of a row, and the space below the rows, in pixels.
const WIDTH: u32 = 900;
const SIZE: u32 = 13;
const ROW: i32 = 24;
const BELOW: i32 = 40;

/// Heights of the title and of the legend.
const TITLE: i32 = 34;
const LEGEND: i32 = 20;

/// Half the height of a bar.
const HALF: i32 = 8;

/// The space for the whole at the right.
const WHOLE: i32 = 90;

/// Most lines of the grid, without the first.
const MARKS: f64 = 6.0;

/// Draws each bar in a row of its own, with its parts one behind the other, its name at the left, and the whole at the right. The axis is
/// linear, and begins at zero.
///
/// # Errors
/// [`PlotError`] if the bars can't be drawn.
pub fn bars(title: &str, parts: &[&str], bars: &[Bar]) -> Result<String, PlotError> {
    let wholes = || bars.iter().map(|bar| bar.parts.iter().sum::<f64>());
    let names = bars.iter().map(|bar| width_of(&bar.name, SIZE)).max().unwrap_or_default();
    let (left, right) = (24 + names, WIDTH as i32 - WHOLE);
    let end = linear(wholes());
    let x = |time: f64| left + (time / end * f64::from(right - left)).round() as i32;
    let below = bars.len() as i32 * ROW;
    svg(WIDTH, (TITLE + LEGEND + below + BELOW) as u32, |root| {
        let centred = |size| font(size).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        let (above, root) = root.split_vertically(TITLE);
        above.draw_text(title, &centred(17), (WIDTH as i32 / 2, 8))?;
        let root = legend(&root, parts)?;
        let step = step(end);
        for mark in 0..=(end / step) as i32 {
            let time = step * f64::from(mark);
            root.draw(&PathElement::new([(x(time), 0), (x(time), below)], GRID))?;
            root.draw_text(&format!("{} µs", number(time)), &centred(SIZE), (x(time), below + 8))?;
        }
        for (row, (bar, whole)) in bars.iter().zip(wholes()).enumerate() {
            let y = row as i32 * ROW + ROW / 2;
            let mut from = 0.0;
            for (part, time) in bar.parts.iter().enumerate() {
                let corners = [(x(from), y - HALF), (x(from + time), y + HALF)];
                root.draw(&Rectangle::new(corners, colour(part).filled()))?;
                from += time;
            }
            let beside = |h| font(SIZE).into_font().color(&BLACK).pos(Pos::new(h, VPos::Center));
            root.draw_text(&bar.name, &beside(HPos::Right), (left - 10, y))?;
            root.draw_text(&format!("{whole:.0} µs"), &beside(HPos::Left), (right + 10, y))?;
        }
        Ok(())
    })
}

/// Returns the least round distance between lines of the grid up to `end`.
fn step(end: f64) -> f64 {
    let least = end / MARKS;
    let ten = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * ten).into_iter().find(|step| *step >= least).unwrap_or(10.0 * ten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::overlapping;

    #[test]
    fn each_bar_has_its_parts_its_name_and_the_whole() {
        let bar = |name: &str, parts: [f64; 2]| Bar { name: name.into(), parts: parts.into() };
        let all = [bar("front, by tonic", [100.0, 50.4]), bar("geo, by tonic", [20.0, 0.0])];
        let drawn = bars("Mean time", &["work", "calls"], &all).unwrap();
        // The background is a rectangle, too.
        assert_eq!(drawn.matches("<rect").count(), 1 + 4);
        for text in ["front, by tonic", "geo, by tonic", "work", "calls", "150 µs", "20 µs"] {
            assert!(drawn.contains(text), "{text}: {drawn}");
        }
        assert_eq!(overlapping(&drawn), Vec::<String>::new());
    }

    #[test]
    fn lines_of_the_grid_are_few_and_round() {
        assert_eq!([1.0, 157.5, 600.0, 601.0, 4_321.0].map(step), [0.2, 50.0, 100.0, 200.0, 1_000.0]);
    }

    #[test]
    fn no_bars_are_an_empty_figure() {
        let drawn = bars("Mean time", &[], &[]).unwrap();
        assert!(drawn.trim_end().ends_with("</svg>") && !drawn.contains("NaN"), "{drawn}");
    }
}
