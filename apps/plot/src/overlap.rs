//! Texts of a drawing that lie on each other, or on a line that is no part of the grid.

use super::width_of;

/// The place of a text, in pixels.
struct Place {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Returns a line for each two texts of `svg` that overlap, and for each text that has no room in the figure or lies on a line of a
/// series. A text that is turned is left out: only the names of axes are.
pub(super) fn overlapping(svg: &str) -> Vec<String> {
    let texts = texts(svg);
    let lines = points(svg);
    let (width, height) = (attribute(svg, "width"), attribute(svg, "height"));
    let mut found = Vec::new();
    for (number, one) in texts.iter().enumerate() {
        if one.left < 0.0 || one.right > width || one.top < 0.0 || one.bottom > height {
            found.push(format!("`{}` has no room", one.text));
        }
        let on = |other: &&Place| {
            one.left < other.right
                && other.left < one.right
                && one.top < other.bottom
                && other.top < one.bottom
        };
        found.extend(
            texts[number + 1..].iter().filter(on).map(|other| format!("`{}` on `{}`", one.text, other.text)),
        );
        let holds =
            |(x, y): &&(f64, f64)| (one.left..one.right).contains(x) && (one.top..one.bottom).contains(y);
        found.extend(lines.iter().find(holds).map(|at| format!("`{}` on a line at {at:?}", one.text)));
    }
    found
}

fn texts(svg: &str) -> Vec<Place> {
    let elements = svg.split("<text ").skip(1).filter_map(|element| element.split_once('>'));
    let upright = elements.filter(|(attributes, _)| !attributes.contains("rotate"));
    let place = |(attributes, rest): (&str, &str)| {
        let text = rest.split("</text>").next().unwrap_or_default().trim();
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let size = attribute(attributes, "font-size");
        let width = f64::from(width_of(&text, size.round() as u32));
        let (x, y) = (attribute(attributes, "x"), attribute(attributes, "y"));
        let left = match attributes {
            middle if middle.contains("\"middle\"") => x - width / 2.0,
            end if end.contains("\"end\"") => x - width,
            _ => x,
        };
        // `dy` lowers the line on which the letters stand: by their whole height, or by half of it.
        let top = if attributes.contains("dy=\"0.5ex\"") { y - size / 2.0 } else { y };
        Place { text, left, right: left + width, top, bottom: top + size * 0.8 }
    };
    upright.map(place).collect()
}

/// Returns the ends of the lines of series, and points between them: of all lines that are thicker than those of the grid.
fn points(svg: &str) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for element in svg.split("<polyline ").skip(1).filter(|element| attribute(element, "stroke-width") > 1.0)
    {
        let ends: Vec<(f64, f64)> = text_of(element, "points")
            .split_whitespace()
            .filter_map(|point| point.split_once(','))
            .filter_map(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)))
            .collect();
        for pair in ends.windows(2) {
            let between = |part: f64| {
                let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
                (x + part * (to_x - x), y + part * (to_y - y))
            };
            points.extend((0..=50).map(|part| between(f64::from(part) / 50.0)));
        }
    }
    points
}

fn text_of<'a>(attributes: &'a str, name: &str) -> &'a str {
    let begin = format!("{name}=\"");
    // A name is not the end of another one.
    let at = attributes.match_indices(&begin).map(|(at, _)| at);
    let at = at.into_iter().find(|at| *at == 0 || attributes.as_bytes()[at - 1] == b' ');
    at.and_then(|at| attributes[at + begin.len()..].split('"').next()).unwrap_or_default()
}

fn attribute(attributes: &str, name: &str) -> f64 {
    text_of(attributes, name).parse().unwrap_or_default()
}

#[test]
fn what_overlaps_is_found() {
    let text = |x: i32, words: &str| {
        format!(
            "<text x=\"{x}\" y=\"10\" dy=\"0.76em\" text-anchor=\"start\" font-size=\"10\">\n{words}\n</text>"
        )
    };
    let of =
        |parts: &[String]| overlapping(&format!("<svg width=\"200\" height=\"50\">{}</svg>", parts.concat()));
    assert_eq!(of(&[text(0, "one"), text(100, "two")]), Vec::<String>::new());
    assert_eq!(of(&[text(0, "one"), text(10, "two")]), ["`one` on `two`"]);
    assert_eq!(of(&[text(190, "long")]), ["`long` has no room"]);
    let line = "<polyline fill=\"none\" stroke-width=\"2\" points=\"0,14 150,14 \"/>".to_owned();
    assert_eq!(of(&[line.clone(), text(60, "one")]).len(), 1);
    assert_eq!(of(&[line.replace("\"2\"", "\"1\""), text(60, "one")]), Vec::<String>::new());
}
