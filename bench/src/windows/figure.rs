//! Draws windows and queues over time.

use super::trace::PACKET;
use super::{Link, Sample, Trace};
use bertha_ycsb::plot::{Anchor, Axis, COLOURS, DASHED, Scale, Svg, number};

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 640.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;

/// Where the two diagrams begin and end.
const WINDOW: (f64, f64) = (78.0, 370.0);
const QUEUE: (f64, f64) = (406.0, 580.0);

/// Above the window over time, with the link's bandwidth-delay product as a dashed line; below the delay in the queue. One
/// colour for each trace.
pub fn draw(link: Link, traces: &[(&str, Trace)]) -> String {
    let samples = || traces.iter().flat_map(|(_, trace)| &trace.samples);
    let product = link.product() / PACKET as f64;
    let time = Axis::around([link.time.as_secs_f64()].into_iter(), Scale::Linear);
    let window = Axis::around(samples().map(|it| it.window).chain([product]), Scale::Linear);
    let queue = Axis::around(samples().map(delay), Scale::Linear);

    let mut svg = Svg::new(WIDTH, HEIGHT);
    svg.text(LEFT, 28.0, Anchor::Start, "title", &format!("Congestion window over time: {link}"));
    legend(&mut svg, traces);
    let above = Panel { time: &time, value: &window, extent: WINDOW };
    above.frame(&mut svg, "Window (packets)");
    above.line(&mut svg, "#555", DASHED, [(0.0, product), (time.high(), product)].into_iter());
    let below = Panel { time: &time, value: &queue, extent: QUEUE };
    below.frame(&mut svg, "Queue (ms)");
    for (number, (_, trace)) in traces.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points =
            |value: fn(&Sample) -> f64| trace.samples.iter().map(move |it| (it.at.as_secs_f64(), value(it)));
        above.line(&mut svg, colour, THIN, points(|it| it.window));
        below.line(&mut svg, colour, THIN, points(delay));
    }
    let bottom = QUEUE.1;
    for tick in &time.ticks {
        svg.text(above.x(*tick), bottom + 20.0, Anchor::Middle, "tick", &number(*tick));
    }
    svg.text(f64::midpoint(LEFT, WIDTH - RIGHT), HEIGHT - 16.0, Anchor::Middle, "name", "Time (s)");
    svg.finish()
}

const THIN: &str = "style=\"stroke-width: 1.3\"";

/// In milliseconds.
fn delay(sample: &Sample) -> f64 {
    sample.queueing.as_secs_f64() * 1e3
}

fn legend(svg: &mut Svg, traces: &[(&str, Trace)]) {
    let mut x = LEFT;
    for (number, (name, trace)) in traces.iter().enumerate() {
        svg.polyline(&[(x, 50.0), (x + 26.0, 50.0)], COLOURS[number % COLOURS.len()], "");
        let text = format!(
            "{name}: {:.1} % used, {:.1} ms queued",
            trace.utilisation * 100.0,
            trace.queueing().as_secs_f64() * 1e3
        );
        svg.text(x + 33.0, 54.0, Anchor::Start, "tick", &text);
        x += 33.0 + 6.8 * text.chars().count() as f64 + 16.0;
    }
}

/// One of the two diagrams.
struct Panel<'a> {
    time: &'a Axis,
    value: &'a Axis,
    extent: (f64, f64),
}

impl Panel<'_> {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + self.time.position(seconds) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        let (top, bottom) = self.extent;
        bottom - self.value.position(value) * (bottom - top)
    }

    fn frame(&self, svg: &mut Svg, name: &str) {
        let (top, bottom) = self.extent;
        for tick in &self.value.ticks {
            svg.line((LEFT, self.y(*tick)), (WIDTH - RIGHT, self.y(*tick)), "grid");
            svg.text(LEFT - 9.0, self.y(*tick) + 4.0, Anchor::End, "tick", &number(*tick));
        }
        for tick in &self.time.ticks {
            svg.line((self.x(*tick), bottom), (self.x(*tick), bottom + 5.0), "axis");
        }
        svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
        svg.vertical_text(22.0, f64::midpoint(top, bottom), "name", name);
    }

    fn line(&self, svg: &mut Svg, colour: &str, style: &str, points: impl Iterator<Item = (f64, f64)>) {
        let points: Vec<_> = points.map(|(time, value)| (self.x(time), self.y(value))).collect();
        svg.polyline(&points, colour, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::LINKS;
    use std::time::Duration;

    #[test]
    fn each_trace_has_a_line_in_both_diagrams() {
        let sample = |second| Sample {
            at: Duration::from_secs(second),
            window: second as f64,
            queueing: Duration::from_millis(second),
        };
        let trace = || Trace { samples: (0..10).map(sample).collect(), utilisation: 0.9 };
        let drawn = draw(LINKS[0], &[("one", trace()), ("other", trace())]);
        assert_eq!(drawn.matches("<polyline").count(), 2 * 3 + 1);
        assert!(drawn.contains("one: 90.0 % used") && !drawn.contains("NaN") && !drawn.contains("inf"));
    }
}
