//! Latency against offered load.

use super::legend::legend;
use super::{GRID, PlotError, Scale, colour, font, linear, logarithmic, marks, number, svg};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// The runs of a program, in the order of their loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// A point for each load.
    pub points: Vec<Point>,
}

/// Latencies at a load, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Load in operations per second.
    pub load: f64,
    /// Median latency.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
}

/// Draws each line in a colour: its median solid with filled markers, its 95th percentile dashed with hollow
/// markers.
///
/// # Errors
/// [`PlotError`] if the lines can't be drawn.
pub fn latency_by_load(lines: &[Line], scale: Scale) -> Result<String, PlotError> {
    let latencies = || lines.iter().flat_map(|line| &line.points).flat_map(|point| [point.p50, point.p95]);
    svg(820, 480, |root| match scale {
        Scale::Linear => draw(root, lines, 0.0..linear(latencies())),
        Scale::Logarithmic => {
            let range = logarithmic(latencies());
            let marks = marks(&range);
            draw(root, lines, range.log_scale().with_key_points(marks))
        }
    })
}

fn draw<Y>(root: &DrawingArea<SVGBackend<'_>, Shift>, lines: &[Line], latency: Y) -> Result<(), PlotError>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let labels: Vec<_> = lines.iter().map(|line| &*line.label).collect();
    let root = root.titled("Latency by load: median solid, 95th percentile dashed", font(17))?;
    let root = legend(&root, &labels)?;
    let loads = lines.iter().flat_map(|line| &line.points).map(|point| point.load);
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(78)
        .build_cartesian_2d(0.0..linear(loads), latency)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .x_desc("Load (thousand operations/s)")
        .y_desc("Latency (µs)")
        .label_style(font(13))
        .x_label_formatter(&|load| number(load / 1e3))
        .y_label_formatter(&|latency| number(*latency))
        .draw()?;
    for (series, line) in lines.iter().enumerate() {
        let colour = colour(series);
        let of = |latency: fn(&Point) -> f64| {
            let points = line.points.iter().map(move |point| (point.load, latency(point)));
            points.filter(|(load, latency)| load.is_finite() && *latency > 0.0).collect::<Vec<_>>()
        };
        let (p50, p95) = (of(|point| point.p50), of(|point| point.p95));
        chart.draw_series(DashedLineSeries::new(p95.iter().copied(), 6, 5, colour.stroke_width(2)))?;
        chart.draw_series(p95.iter().map(|point| Circle::new(*point, 4, colour.stroke_width(2))))?;
        chart.draw_series(p50.iter().map(|point| Circle::new(*point, 4, colour.filled())))?;
        chart.draw_series(LineSeries::new(p50.iter().copied(), colour.stroke_width(2)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::overlapping;

    fn line(label: &str) -> Line {
        let points = [1e4, 2e4, 3e4].map(|load| Point { load, p50: load / 100.0, p95: load / 30.0 });
        Line { label: label.into(), points: points.to_vec() }
    }

    #[test]
    fn draws_two_markers_for_each_point_and_every_label() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let drawn = latency_by_load(&[line("a <&> b"), line("c")], scale).unwrap();
            assert_eq!(drawn.matches("<circle").count(), 2 * 2 * 3);
            assert!(drawn.contains("a &lt;&amp;&gt; b") && !drawn.contains("NaN"), "{drawn}");
            assert_eq!(overlapping(&drawn), Vec::<String>::new());
        }
    }

    #[test]
    fn no_points_are_an_empty_figure() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let drawn = latency_by_load(&[Line { label: "a".into(), points: vec![] }], scale).unwrap();
            assert!(drawn.trim_end().ends_with("</svg>") && !drawn.contains("NaN"));
        }
    }
}
