//! The drawing of one connection.

use super::list::age;
use super::view::View;
use bertha_observe::{ConnectionState, LayerState, ProcessState};
use bertha_program::escaped;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Modifier;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

/// Draws the chosen connection, from a line on.
pub(super) fn draw(view: &View, from: u16, frame: &mut Frame<'_>) {
    let [body, foot] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    let lines = match view.detail() {
        None => vec![Line::from("the connection has ended")],
        Some((process, connection)) => lines(process, connection),
    };
    frame.render_widget(Paragraph::new(Text::from(lines)).wrap(Wrap { trim: false }).scroll((from, 0)), body);
    let stopped = if view.is_stopped { "  (stopped)" } else { "" };
    frame.render_widget(
        Line::styled(format!("up/down move  Esc back  p stop  q quit{stopped}"), Modifier::DIM),
        foot,
    );
}

fn lines(process: &ProcessState, connection: &ConnectionState) -> Vec<Line<'static>> {
    let program = escaped(&process.program);
    let title = format!("connection {} of {program} (process {})", connection.number, process.pid);
    let mut lines = vec![Line::styled(title, Modifier::BOLD)];
    let mut add = |name: &str, value: String| lines.push(Line::from(format!("{name:<12}{value}")));
    add("here", escaped(&connection.local));
    add("peer", escaped(&connection.peer));
    add("age", age(connection.age_seconds));
    add("epoch", connection.changes.to_string());
    add("agreement", escaped(&connection.agreement));
    connection.layers.iter().for_each(|layer| lines.extend(layer_lines(layer)));
    lines
}

fn layer_lines(layer: &LayerState) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(), Line::styled(escaped(&layer.name), Modifier::BOLD)];
    for value in &layer.values {
        let name = escaped(&value.name.replace('_', " "));
        lines.push(Line::from(format!("  {name:<24}{}", escaped(&value.value.to_string()))));
    }
    for dropped in &layer.drops {
        lines.push(Line::from(format!("  dropped {:<16}{}", dropped.messages, escaped(&dropped.reason))));
    }
    lines
}
