//! The few shapes that a diagram needs, as SVG text.

use std::fmt::Write;

const STYLE: &str = "text { font-family: 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; fill: #222 }\n\
.title { font-size: 17px; font-weight: 600 }\n\
.name { font-size: 13.5px }\n\
.tick { font-size: 12.5px; fill: #555 }\n\
.grid { stroke: #e4e4e4; stroke-width: 1 }\n\
.axis { stroke: #555; stroke-width: 1.2 }\n\
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }\n\
.marker { stroke-width: 1.8 }";

/// Which point of a text lies at its position.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// Its first.
    Start,
    /// Its middle.
    Middle,
    /// Its last.
    End,
}

/// A drawing in the making.
#[derive(Debug)]
pub struct Svg(String);

// Writing to a `String` cannot fail, so the results of `write!` are dropped.
impl Svg {
    /// An empty drawing of this size.
    pub fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\">\n<style>\n{STYLE}\n</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        ))
    }

    /// A straight line; `class` is `grid` or `axis`.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.0,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        );
    }

    /// A line through all points. `style` is further attributes.
    pub fn polyline(&mut self, points: &[(f64, f64)], colour: &str, style: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.0, "<polyline points=\"{}\" stroke=\"{colour}\" {style}/>", points.join(" "));
    }

    /// A circle, square, diamond or triangle, by the number of the series; filled, or an outline.
    pub fn marker(&mut self, (x, y): (f64, f64), series: usize, colour: &str, filled: bool) {
        let fill = if filled { colour } else { "white" };
        let paint = format!("class=\"marker\" stroke=\"{colour}\" fill=\"{fill}\"");
        let outline: &[(f64, f64)] = match series % 4 {
            0 => {
                let _ = writeln!(self.0, "<circle {paint} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
                return;
            }
            1 => &[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)],
            2 => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
            _ => &[(0.0, -4.8), (4.6, 3.6), (-4.6, 3.6)],
        };
        let points: Vec<String> =
            outline.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        let _ = writeln!(self.0, "<polygon {paint} points=\"{}\"/>", points.join(" "));
    }

    /// A line of text; `class` is `title`, `name` or `tick`.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            escaped(text)
        );
    }

    /// Centred at its position and read from below.
    pub fn vertical_text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let _ = writeln!(
            self.0,
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\" \
             class=\"{class}\">{}</text>",
            escaped(text)
        );
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
