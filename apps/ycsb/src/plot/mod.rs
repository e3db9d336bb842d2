//! Draws latency against offered load, and how times are spread, as SVG. Shapes and axes serve other diagrams as well.

mod axis;
mod spread;
mod svg;

use std::fmt::Write;

use crate::report::{Measured, Report};
pub use axis::{Axis, Scale};
pub use spread::{Spread, times};
pub use svg::{Anchor, Svg};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 62.0;

/// Told apart by people with any colour vision (after Okabe and Ito), and by their markers in grey.
pub const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// The style of a dashed line.
pub const DASHED: &str = "stroke-dasharray=\"6 5\"";

/// One report is one colour: its median is a solid line, its 95th percentile a dashed one with hollow markers.
///
/// A run in a closed loop is drawn at the load that it reached. A report without runs appears in the legend only.
pub fn latency_by_load(reports: &[Report], scale: Scale) -> String {
    let runs = || reports.iter().flat_map(|report| &report.runs);
    let load = Axis::around(runs().map(offered), Scale::Linear);
    let latency = Axis::around(runs().flat_map(|run| [run.total.p50, run.total.p95]), scale);
    let frame = Frame { load, latency };

    let mut svg = Svg::new(WIDTH, HEIGHT);
    svg.text(LEFT, 28.0, Anchor::Start, "title", "Latency by offered load");
    legend(&mut svg, reports);
    frame.draw_axes(&mut svg);
    for (i, report) in reports.iter().enumerate() {
        let mut runs: Vec<&Measured> = report.runs.iter().collect();
        runs.sort_by(|a, b| offered(a).total_cmp(&offered(b)));
        let line = |latency: fn(&Measured) -> f64| runs.iter().map(move |run| (offered(run), latency(run)));
        frame.draw_line(&mut svg, i, line(|run| run.total.p95), false);
        frame.draw_line(&mut svg, i, line(|run| run.total.p50), true);
    }
    svg.finish()
}

fn offered(run: &Measured) -> f64 {
    run.offered.unwrap_or(run.throughput)
}

struct Frame {
    load: Axis,
    latency: Axis,
}

impl Frame {
    fn x(&self, load: f64) -> f64 {
        LEFT + self.load.position(load) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, latency: f64) -> f64 {
        HEIGHT - BOTTOM - self.latency.position(latency) * (HEIGHT - TOP - BOTTOM)
    }

    fn draw_axes(&self, svg: &mut Svg) {
        let bottom = HEIGHT - BOTTOM;
        let (load_unit, load_name) =
            if self.load.high() >= 10_000.0 { (1e3, "thousand operations/s") } else { (1.0, "operations/s") };
        let (latency_unit, latency_name) =
            if self.latency.high() >= 10_000.0 { (1e3, "ms") } else { (1.0, "µs") };
        for tick in &self.latency.ticks {
            let y = self.y(*tick);
            svg.line((LEFT, y), (WIDTH - RIGHT, y), "grid");
            svg.text(LEFT - 9.0, y + 4.0, Anchor::End, "tick", &number(tick / latency_unit));
        }
        for tick in &self.load.ticks {
            let x = self.x(*tick);
            svg.line((x, bottom), (x, bottom + 5.0), "axis");
            svg.text(x, bottom + 20.0, Anchor::Middle, "tick", &number(tick / load_unit));
        }
        svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        svg.text(middle, HEIGHT - 16.0, Anchor::Middle, "name", &format!("Offered load ({load_name})"));
        svg.vertical_text(22.0, f64::midpoint(TOP, bottom), "name", &format!("Latency ({latency_name})"));
    }

    fn draw_line(&self, svg: &mut Svg, series: usize, points: impl Iterator<Item = (f64, f64)>, solid: bool) {
        let points: Vec<_> = points.map(|(load, latency)| (self.x(load), self.y(latency))).collect();
        let colour = COLOURS[series % COLOURS.len()];
        svg.polyline(&points, colour, if solid { "" } else { DASHED });
        points.iter().for_each(|point| svg.marker(*point, series, colour, solid));
    }
}

/// Colours on the first line, line styles on the second.
fn legend(svg: &mut Svg, reports: &[Report]) {
    let mut x = LEFT;
    for (i, report) in reports.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        svg.polyline(&[(x, 50.0), (x + 26.0, 50.0)], colour, "");
        svg.marker((x + 13.0, 50.0), i, colour, true);
        svg.text(x + 33.0, 54.0, Anchor::Start, "name", &report.label);
        x += 33.0 + 7.4 * report.label.chars().count() as f64 + 26.0;
    }
    let grey = "#555";
    svg.polyline(&[(LEFT, 72.0), (LEFT + 26.0, 72.0)], grey, "");
    svg.text(LEFT + 33.0, 76.0, Anchor::Start, "tick", "median");
    svg.polyline(&[(LEFT + 96.0, 72.0), (LEFT + 122.0, 72.0)], grey, DASHED);
    svg.text(LEFT + 129.0, 76.0, Anchor::Start, "tick", "95th percentile");
}

/// At most three decimals, and none that say nothing.
pub fn number(value: f64) -> String {
    let mut text = String::new();
    let _ = write!(text, "{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{report, run};

    #[test]
    fn draws_two_lines_and_a_marker_for_each_point() {
        let runs = || [1e4, 2e4, 3e4].map(|load| run(Some(load), load, load / 100.0)).to_vec();
        let drawn = latency_by_load(&[report("a <&> b", runs()), report("c", runs())], Scale::Logarithmic);
        let data = |class: &str| drawn.matches(class).count();
        assert_eq!(data("<polyline"), 4 + 2 + 2, "two for each report, and the legend");
        assert_eq!(data("class=\"marker\""), 2 * 2 * 3 + 2);
        assert!(drawn.contains("a &lt;&amp;&gt; b"));
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }

    #[test]
    fn nothing_measured_is_an_empty_diagram() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let drawn = latency_by_load(&[report("a", vec![])], scale);
            assert!(drawn.ends_with("</svg>\n") && !drawn.contains("NaN"));
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 20.0, 2.5, 0.125].map(number), ["0", "20", "2.5", "0.125"]);
    }
}
