//! Times as box plots.

use super::{GRID, PlotError, colour, font, logarithmic, number, svg};
use plotters::prelude::*;

/// The distribution of a kind of time, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    name: String,
    /// The 5th, 25th, 50th, 75th and 95th percentile.
    percentiles: [f64; 5],
}

impl Spread {
    /// Returns the distribution of these times; `None` if there are none.
    pub fn of(name: &str, times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let percentiles =
            [0.05, 0.25, 0.5, 0.75, 0.95].map(|part| sorted[(part * last as f64).round() as usize]);
        Some(Self { name: name.to_owned(), percentiles })
    }
}

/// Half the width of a box, and of the ends of its whiskers, as a part of the distance between boxes.
const BOX: f64 = 0.25;
const END: f64 = 0.12;

/// Draws a box for each distribution on a logarithmic axis, from the 25th to the 75th percentile with a line
/// at the median, and whiskers to the 5th and the 95th.
///
/// # Errors
/// [`PlotError`] if the boxes can't be drawn.
pub fn spreads(title: &str, spreads: &[Spread]) -> Result<String, PlotError> {
    let times = logarithmic(spreads.iter().flat_map(|spread| spread.percentiles));
    svg(900, 480, |root| {
        let mut chart = ChartBuilder::on(root)
            .caption(format!("{title}: 5th, 25th, 50th, 75th and 95th percentile"), font(17))
            .margin(12)
            .y_label_area_size(78)
            .build_cartesian_2d(-0.5..spreads.len().max(1) as f64 - 0.5, times.clone().log_scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .y_desc("Time (µs)")
            .label_style(font(13))
            .y_label_formatter(&|time| number(*time))
            .draw()?;
        for (series, spread) in spreads.iter().enumerate() {
            let x = series as f64;
            let style = colour(series).stroke_width(2);
            let [p5, p25, p50, p75, p95] = spread.percentiles;
            let across = |half: f64, y: f64| vec![(x - half, y), (x + half, y)];
            let lines = [
                vec![(x, p5), (x, p25)],
                vec![(x, p75), (x, p95)],
                across(END, p5),
                across(END, p95),
                across(BOX, p50),
            ];
            chart.draw_series(lines.into_iter().map(|line| PathElement::new(line, style)))?;
            chart.draw_series([Rectangle::new([(x - BOX, p25), (x + BOX, p75)], style)])?;
            let names = spread.name.split(", ").map(str::to_owned);
            let texts = names.chain([format!("{} µs", number((p50 * 10.0).round() / 10.0))]);
            for (line, text) in texts.enumerate() {
                let at = chart.backend_coord(&(x, times.start));
                let at = (at.0 - 3 * text.chars().count() as i32, at.1 - 52 + 16 * line as i32);
                root.draw_text(&text, &font(12).into_font().color(&BLACK), at)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_its_percentiles() {
        let times: Vec<_> = (0..=100).rev().map(f64::from).collect();
        let spread = Spread::of("a", &times).unwrap();
        assert_eq!(spread.percentiles, [5.0, 25.0, 50.0, 75.0, 95.0]);
        assert_eq!(Spread::of("a", &[]), None);
    }

    #[test]
    fn each_has_a_box_and_its_name() {
        let two = ["one", "two, lines"].map(|name| Spread::of(name, &[3.0, 5.0, 40.0]).unwrap());
        let drawn = spreads("t", &two).unwrap();
        assert!(drawn.contains("one") && drawn.contains("two") && drawn.contains("lines"), "{drawn}");
        assert!(drawn.contains("5 µs") && !drawn.contains("NaN"));
        assert!(spreads("t", &[]).unwrap().trim_end().ends_with("</svg>"));
    }
}
