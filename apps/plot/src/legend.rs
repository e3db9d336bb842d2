//! The names of series, in rows above a figure, where they hide nothing.

use super::{PlotError, colour, font, width_of};
use plotters::coord::Shift;
use plotters::prelude::*;

/// Height of a row, size of its text, and the place of the first name, in pixels.
const ROW: i32 = 20;
const SIZE: u32 = 13;
const LEFT: i32 = 90;

/// Length of a sample of a line, its distance to the name, and the distance between two names.
const SAMPLE: i32 = 22;
const GAP: i32 = 6;
const BETWEEN: i32 = 20;

/// Draws a sample of the line of each series, with its name, at the top of `root`. Returns what is left of `root` below.
pub(super) fn legend<'a>(
    root: &DrawingArea<SVGBackend<'a>, Shift>,
    labels: &[&str],
) -> Result<DrawingArea<SVGBackend<'a>, Shift>, PlotError> {
    let (width, _) = root.dim_in_pixel();
    let places = places(labels, width as i32);
    let rows = places.last().map_or(0, |last| last.1 + 1);
    let (above, below) = root.split_vertically(rows * ROW);
    for (series, (label, (x, row))) in labels.iter().zip(&places).enumerate() {
        let (x, y) = (*x, row * ROW + ROW / 2);
        above.draw(&PathElement::new([(x, y), (x + SAMPLE, y)], colour(series).stroke_width(2)))?;
        let style = font(SIZE).into_font().color(&BLACK);
        above.draw_text(label, &style, (x + SAMPLE + GAP, y - SIZE as i32 / 2))?;
    }
    Ok(below)
}

/// Returns the distance from the left, and the row, of each label.
fn places(labels: &[&str], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut row) = (LEFT, 0);
    let place = |label: &&str| {
        let length = SAMPLE + GAP + width_of(label, SIZE);
        if x > LEFT && x + length > width {
            (x, row) = (LEFT, row + 1);
        }
        let place = (x, row);
        x += length + BETWEEN;
        place
    };
    labels.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_as_many_names_as_fit() {
        assert_eq!(places(&["one", "two"], 900).iter().map(|place| place.1).max(), Some(0));
        let long = "a name of many letters, and of many more";
        assert_eq!(places(&[long; 5], 900).iter().map(|place| place.1).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
        // A name that is wider than the figure has a row of its own.
        assert_eq!(places(&[long, long], 100), [(LEFT, 0), (LEFT, 1)]);
        assert_eq!(places(&[], 900), []);
    }
}
