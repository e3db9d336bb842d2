//! The latency of each message over time, with the active stack: the shape of the thesis's Figure 3.7.

use crate::history::{Line, What};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 430.0;
/// Left, top, right and bottom of the plot.
const PLOT: (f64, f64, f64, f64) = (74.0, 56.0, 836.0, 372.0);
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

const STYLE: &str = "text { font-family: 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; fill: #222; font-size: 12.5px }\n\
.title { font-size: 17px; font-weight: 600 }\n.tick { fill: #555 }\n.grid { stroke: #e4e4e4 }\n.axis { stroke: #555 }\n\
.event { stroke: #222; stroke-dasharray: 4 3 }";

/// A message that arrived: the time of sending in seconds, the latency in microseconds, and its receiver.
type Point = (f64, f64, u32);

/// Draws the figure, as SVG. The axes are empty if nothing was received.
// Writing to a `String` cannot fail, so the results of `write!` are dropped.
pub(crate) fn draw(lines: &[Line]) -> String {
    let start = lines.iter().filter(|line| matches!(line.what, What::Sent { .. })).map(|line| line.at).min();
    let start = start.unwrap_or(0);
    let seconds = |at: u64| (at as f64 - start as f64) / 1e9;
    let points: Vec<Point> = lines
        .iter()
        .filter_map(|line| match line.what {
            What::Received { sent, .. } => {
                Some((seconds(sent), line.at.saturating_sub(sent) as f64 / 1e3, line.participant))
            }
            _ => None,
        })
        .collect();
    let end = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let slowest = points.iter().map(|point| point.1).fold(100.0, f64::max);
    let bottom = 1.0;
    let top = 10f64.powf(slowest.log10().ceil()).log10();
    let x = |time: f64| PLOT.0 + time / end * (PLOT.2 - PLOT.0);
    let y = |micros: f64| PLOT.3 - (micros.max(10.0).log10() - bottom) / (top - bottom) * (PLOT.3 - PLOT.1);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\n\
         <style>\n{STYLE}\n</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(&mut svg, Pixel(PLOT.0, 26.0), "start", "title", "Latency while the third participant joins");
    for decade in 1..=top as i32 {
        let micros = 10f64.powi(decade);
        line(&mut svg, Pixel(PLOT.0, y(micros)), Pixel(PLOT.2, y(micros)), "grid");
        let label = if decade < 3 { format!("{micros} µs") } else { format!("{} ms", micros / 1e3) };
        text(&mut svg, Pixel(PLOT.0 - 8.0, y(micros) + 4.0), "end", "tick", &label);
    }
    for tick in 0..=end as u32 {
        text(&mut svg, Pixel(x(tick.into()), PLOT.3 + 18.0), "middle", "tick", &format!("{tick} s"));
    }
    line(&mut svg, Pixel(PLOT.0, PLOT.3), Pixel(PLOT.2, PLOT.3), "axis");
    for (time, micros, receiver) in &points {
        let colour = COLOURS[*receiver as usize % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" fill=\"{colour}\" fill-opacity=\"0.7\"/>",
            x(*time),
            y(*micros)
        );
    }
    for (time, label) in changes(lines).into_iter().map(|(at, label)| (seconds(at), label)) {
        if time < 0.0 || time > end {
            continue;
        }
        line(&mut svg, Pixel(x(time), PLOT.1 - 14.0), Pixel(x(time), PLOT.3), "event");
        text(&mut svg, Pixel(x(time) + 4.0, PLOT.1 - 5.0), "start", "tick", &label);
    }
    let mut receivers: Vec<u32> = points.iter().map(|point| point.2).collect();
    receivers.sort_unstable();
    receivers.dedup();
    for (at, receiver) in receivers.into_iter().enumerate() {
        let left = PLOT.0 + 150.0 * at as f64;
        let colour = COLOURS[receiver as usize % COLOURS.len()];
        let _ =
            writeln!(svg, "<circle cx=\"{left:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"/>", HEIGHT - 18.0);
        text(&mut svg, Pixel(left + 9.0, HEIGHT - 14.0), "start", "tick", &format!("received by {receiver}"));
    }
    svg + "</svg>\n"
}

/// Returns the times at which all participants had changed to a stack, and at which a participant came, with
/// labels.
fn changes(lines: &[Line]) -> Vec<(u64, String)> {
    let mut changes: Vec<(u64, u64, String)> = Vec::new();
    let mut others = Vec::new();
    let mut joined = 0;
    for line in lines {
        match &line.what {
            What::Joined { .. } => {
                joined += 1;
                others.push((line.at, format!("participant {joined} joins")));
            }
            What::Changed { round, stack, .. } => {
                let ordering = stack.rsplit(" / ").next().unwrap_or(stack).to_owned();
                match changes.iter_mut().find(|change| change.1 == *round) {
                    Some(change) => change.0 = line.at,
                    None => changes.push((line.at, *round, ordering)),
                }
            }
            _ => {}
        }
    }
    others.extend(changes.into_iter().map(|(at, _, ordering)| (at, ordering)));
    // Labels that would overlap are merged.
    others.sort();
    others.dedup_by(|later, before| {
        let is_close = later.0 - before.0 < 700_000_000;
        if is_close {
            before.1 = format!("{}, then {}", before.1, later.1);
        }
        is_close
    });
    others
}

/// A place in the figure, in pixels from its left and upper edge.
#[derive(Clone, Copy)]
struct Pixel(f64, f64);

fn line(svg: &mut String, from: Pixel, to: Pixel, class: &str) {
    let Pixel(x1, y1) = from;
    let Pixel(x2, y2) = to;
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
    );
}

fn text(svg: &mut String, Pixel(x, y): Pixel, anchor: &str, class: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
    );
}
