//! How times are spread, as box plots.

use super::axis::{Axis, Scale};
use super::svg::{Anchor, Svg};
use super::{COLOURS, number};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 78.0;

/// The width of a box, and of the ends of its whiskers.
const BOX: f64 = 44.0;
const END: f64 = 22.0;

/// How one kind of time is spread, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    name: String,
    /// The 5th, 25th, 50th, 75th and 95th percentile.
    percentiles: [f64; 5],
}

impl Spread {
    /// That of these times, under this name, of which what follows a comma stands in a line of its own. `None` without any.
    pub fn of(name: &str, times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let percentiles =
            [0.05, 0.25, 0.5, 0.75, 0.95].map(|part| sorted[(part * last as f64).round() as usize]);
        Some(Self { name: name.to_owned(), percentiles })
    }
}

/// Draws a box for each, from the 25th to the 75th percentile with a line at the median, and whiskers to the 5th and the
/// 95th.
pub fn times(title: &str, spreads: &[Spread], scale: Scale) -> String {
    let axis = Axis::around(spreads.iter().flat_map(|spread| spread.percentiles), scale);
    let (unit, unit_name) = if axis.high() >= 10_000.0 { (1e3, "ms") } else { (1.0, "µs") };
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let y = |time: f64| bottom - axis.position(time) * (bottom - TOP);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    svg.text(LEFT, 28.0, Anchor::Start, "title", title);
    svg.text(LEFT, 50.0, Anchor::Start, "tick", "5th, 25th, 50th, 75th and 95th percentile");
    for tick in &axis.ticks {
        svg.line((LEFT, y(*tick)), (right, y(*tick)), "grid");
        svg.text(LEFT - 9.0, y(*tick) + 4.0, Anchor::End, "tick", &number(tick / unit));
    }
    svg.line((LEFT, bottom), (right, bottom), "axis");
    svg.vertical_text(22.0, f64::midpoint(TOP, bottom), "name", &format!("Time ({unit_name})"));
    let room = (right - LEFT) / spreads.len().max(1) as f64;
    for (series, spread) in spreads.iter().enumerate() {
        let x = LEFT + (series as f64 + 0.5) * room;
        draw(&mut svg, x, spread.percentiles.map(y), COLOURS[series % COLOURS.len()]);
        for (line, text) in spread.name.split(", ").enumerate() {
            svg.text(x, bottom + 22.0 + 18.0 * line as f64, Anchor::Middle, "name", text);
        }
        let middle = format!("{} {unit_name}", number((spread.percentiles[2] / unit * 10.0).round() / 10.0));
        svg.text(x, HEIGHT - 14.0, Anchor::Middle, "tick", &middle);
    }
    svg.finish()
}

fn draw(svg: &mut Svg, x: f64, [p5, p25, p50, p75, p95]: [f64; 5], colour: &str) {
    let across = |width: f64, y: f64| [(x - width / 2.0, y), (x + width / 2.0, y)];
    svg.polyline(&[(x, p5), (x, p25)], colour, "");
    svg.polyline(&[(x, p75), (x, p95)], colour, "");
    svg.polyline(&across(END, p5), colour, "");
    svg.polyline(&across(END, p95), colour, "");
    let [left, right] = across(BOX, p25).map(|(x, _)| x);
    svg.polyline(
        &[(left, p25), (right, p25), (right, p75), (left, p75), (left, p25)],
        colour,
        "class=\"box\"",
    );
    svg.polyline(&across(BOX, p50), colour, "");
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
        let spreads = ["one", "two, lines"].map(|name| Spread::of(name, &[3.0, 5.0, 40.0]).unwrap());
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let drawn = times("t", &spreads, scale);
            assert_eq!(drawn.matches("class=\"box\"").count(), 2);
            assert!(drawn.contains(">two<") && drawn.contains(">lines<") && drawn.contains("5 µs"));
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
        }
        assert!(times("t", &[], Scale::Linear).ends_with("</svg>\n"));
    }
}
