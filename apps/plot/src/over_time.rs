//! Values over time, load or another quantity, in panels below each other.

use super::legend::legend;
use super::{GRID, PlotError, colour, font, linear, number, svg};
use plotters::prelude::*;

/// A diagram of a single quantity.
#[derive(Clone, Debug)]
pub struct Panel<'a> {
    /// The quantity and its unit.
    pub name: &'a str,
    /// Lines of the panel; lines at equal places in all panels have a common colour.
    pub series: Vec<Series>,
    /// Value to mark by a dashed line.
    pub mark: Option<f64>,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend, which has the names of the first panel.
    pub label: String,
    /// Places on the axis, which are seconds or loads, and values, in order.
    pub points: Vec<(f64, f64)>,
}

/// Height of the names and margins of a panel in pixels.
const AROUND: u32 = 60;

/// Height that a label of the vertical axis takes with the space around it, in pixels.
const LABEL: u32 = 20;

/// Largest number of labels of the vertical axis.
const LABELS: u32 = 11;

/// Draws the panels over a common axis of time.
///
/// # Errors
/// [`PlotError`] if they can't be drawn.
pub fn over_time(title: &str, panels: &[Panel<'_>]) -> Result<String, PlotError> {
    over("Time (s)", title, panels)
}

/// Draws the panels over a common axis of offered loads in thousand operations per second.
///
/// # Errors
/// [`PlotError`] if they can't be drawn.
pub fn over_load(title: &str, panels: &[Panel<'_>]) -> Result<String, PlotError> {
    over("Load (thousand operations/s)", title, panels)
}

/// Draws the panels over a common axis with this name.
///
/// # Errors
/// [`PlotError`] if they can't be drawn.
pub fn over(axis: &str, title: &str, panels: &[Panel<'_>]) -> Result<String, PlotError> {
    svg(900, 640, |root| {
        let root = root.titled(title, font(17))?;
        let named = panels.first().into_iter().flat_map(|panel| &panel.series);
        let labels: Vec<_> = named.map(|series| &*series.label).collect();
        let root = legend(&root, &labels)?;
        for (area, panel) in root.split_evenly((panels.len().max(1), 1)).iter().zip(panels) {
            let points = || panel.series.iter().flat_map(|series| &series.points);
            let time = linear(points().map(|point| point.0));
            let values = || points().map(|point| point.1).chain(panel.mark);
            let has_negative = values().any(|value| value < 0.0);
            let lowest = if has_negative { -linear(values().map(|value| -value)) } else { 0.0 };
            let labels = (area.dim_in_pixel().1.saturating_sub(AROUND) / LABEL).clamp(2, LABELS);
            let mut chart = ChartBuilder::on(area)
                .margin(10)
                .x_label_area_size(40)
                .y_label_area_size(78)
                .build_cartesian_2d(0.0..time, lowest..linear(values()))?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .light_line_style(WHITE)
                .bold_line_style(GRID)
                .x_desc(axis)
                .y_desc(panel.name)
                .label_style(font(13))
                .y_labels(labels as usize)
                .x_label_formatter(&|time| number(*time))
                .y_label_formatter(&|value| number(*value))
                .draw()?;
            if let Some(mark) = panel.mark {
                let ends = [(0.0, mark), (time, mark)];
                chart.draw_series(DashedLineSeries::new(ends, 6, 5, BLACK.stroke_width(1)))?;
            }
            for (number_of_series, series) in panel.series.iter().enumerate() {
                let colour = colour(number_of_series);
                chart.draw_series(LineSeries::new(series.points.iter().copied(), colour.stroke_width(1)))?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::overlapping;

    #[test]
    fn each_series_has_a_line_and_the_first_panel_a_legend() {
        let series = |label: &str| Series {
            label: label.into(),
            points: (0..10).map(|it| (f64::from(it), 2.0 * f64::from(it))).collect(),
        };
        let panel = |name, mark| Panel { name, series: vec![series("one"), series("other")], mark };
        let drawn = over_time("t", &[panel("above", Some(3.0)), panel("below", None)]).unwrap();
        assert_eq!(drawn.matches("other").count(), 1, "{drawn}");
        assert!(drawn.contains("above") && drawn.contains("below") && !drawn.contains("NaN"));
        assert_eq!(overlapping(&drawn), Vec::<String>::new());
        assert!(drawn.contains("Time (s)") && !drawn.contains("Load"));
        let low = ["a", "b", "c", "d"].map(|name| panel(name, Some(10_000.0)));
        assert_eq!(overlapping(&over_time("t", &low).unwrap()), Vec::<String>::new());
        let by_load = over_load("t", &[panel("above", None)]).unwrap();
        assert!(by_load.contains("Load (thousand") && !by_load.contains("Time"), "{by_load}");
    }
}
