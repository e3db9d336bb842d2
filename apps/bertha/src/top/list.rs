//! The drawing of the list.

use super::row::Row;
use super::sorting::Sorting;
use super::view::{Mode, View};
use bertha_observe::StateValue;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row as TableRow, Table, TableState};
use std::time::Duration;

/// The columns: title, width, and the sorting that it stands for.
const COLUMNS: [(&str, Constraint, Option<Sorting>); 10] = [
    ("PROGRAM", Constraint::Length(14), Some(Sorting::Program)),
    ("PID", Constraint::Length(7), None),
    ("PEER", Constraint::Length(21), Some(Sorting::Peer)),
    ("STACK", Constraint::Min(16), Some(Sorting::Stack)),
    ("AGE", Constraint::Length(7), Some(Sorting::Age)),
    ("RECV/s", Constraint::Length(7), Some(Sorting::Received)),
    ("SENT/s", Constraint::Length(7), Some(Sorting::Sent)),
    ("RTT", Constraint::Length(8), Some(Sorting::Rtt)),
    ("LOST", Constraint::Length(6), Some(Sorting::Lost)),
    ("DROPS", Constraint::Length(6), Some(Sorting::Dropped)),
];

/// Draws the list with its head and foot.
pub(super) fn draw(view: &View, frame: &mut Frame<'_>) {
    let unknown = view.unknown.len().min(3) as u16;
    let listeners = view.listeners().count().min(4) as u16;
    let parts = [
        Constraint::Length(1 + unknown),
        Constraint::Length(listeners),
        Constraint::Min(2),
        Constraint::Length(1),
    ];
    let [head, clients, table, foot] = Layout::vertical(parts).areas(frame.area());
    let mut lines = vec![Line::styled(summary(view), Modifier::BOLD)];
    lines.extend(
        view.unknown.iter().take(unknown.into()).map(|reason| Line::from(format!("no answer: {reason}"))),
    );
    frame.render_widget(ratatui::text::Text::from(lines), head);
    let told: Vec<_> = view
        .listeners()
        .take(listeners.into())
        .map(|(process, listener)| {
            let count = |name| {
                let value = listener.layers.iter().find_map(|layer| layer.value(name));
                value.map_or_else(|| "-".into(), StateValue::to_string)
            };
            let program = bertha_program::escaped(&process.program);
            let local = bertha_program::escaped(&listener.local);
            let refused: u64 = refused(&listener.layers);
            let open = count("connections");
            let accepted = count("accepted");
            Line::from(format!(
                "{program} listens at {local}: {open} open, {accepted} accepted, {refused} refused"
            ))
        })
        .collect();
    frame.render_widget(ratatui::text::Text::from(told), clients);
    draw_table(view, frame, table);
    frame.render_widget(Line::styled(foot_line(view), Modifier::DIM), foot);
}

fn refused(layers: &[bertha_observe::LayerState]) -> u64 {
    let values = layers.iter().flat_map(|layer| &layer.values);
    let refused = values.filter(|value| value.name.starts_with("refused_"));
    refused.filter_map(|value| value.value.total()).fold(0, u64::saturating_add)
}

fn draw_table(view: &View, frame: &mut Frame<'_>, area: ratatui::layout::Rect) {
    let titles = COLUMNS.map(|(title, _, sorting)| {
        let is_sorted = sorting == Some(view.sorting);
        let title = Cell::from(title);
        if is_sorted { title.style(Style::new().add_modifier(Modifier::UNDERLINED)) } else { title }
    });
    let rows = view.rows.iter().map(|row| TableRow::new(cells(row)));
    let table = Table::new(rows, COLUMNS.map(|(_, width, _)| width))
        .header(TableRow::new(titles).style(Modifier::REVERSED))
        .row_highlight_style(Modifier::REVERSED);
    let mut state = TableState::new().with_selected(view.chosen());
    frame.render_stateful_widget(table, area, &mut state);
}

fn summary(view: &View) -> String {
    let processes = view.processes.len();
    let connections: usize = view.processes.iter().map(|process| process.connections.len()).sum();
    let left_out = view.processes.iter().map(|process| process.left_out).fold(0, u64::saturating_add);
    let mut text = format!(
        "bertha top: {}, {}",
        counted(processes, "process", "processes"),
        counted(connections, "connection", "connections")
    );
    if view.rows.len() != connections {
        text.push_str(&format!(", {} shown", view.rows.len()));
    }
    if left_out > 0 {
        text.push_str(&format!(", {left_out} left out"));
    }
    if view.is_stopped {
        text.push_str(", stopped");
    }
    if processes == 0 && view.unknown.is_empty() {
        text.push_str("; start a program with --observe, or call bertha::observe in it");
    }
    text
}

fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

fn foot_line(view: &View) -> String {
    match view.mode {
        Mode::Filter => format!("filter: {}_  (Enter)", bertha_program::escaped(&view.filter)),
        _ if !view.filter.is_empty() => {
            format!("only with \"{}\"; / filter  q quit", bertha_program::escaped(&view.filter))
        }
        _ => "up/down choose  Enter detail  s sort  r reverse  / filter  p stop  q quit".into(),
    }
}

fn cells(row: &Row) -> [String; 10] {
    let stack = match row.condition.as_str() {
        "" => row.stack.clone(),
        condition => format!("{} [{condition}]", row.stack),
    };
    [
        row.program.clone(),
        row.key.0.to_string(),
        row.peer.clone(),
        stack,
        age(row.age_seconds),
        known(row.receive_rate, |rate| format!("{rate:.0}")),
        known(row.send_rate, |rate| format!("{rate:.0}")),
        known(row.rtt_seconds, rtt),
        known(row.lost, |lost| lost.to_string()),
        row.dropped.to_string(),
    ]
}

fn known<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".into(), shown)
}

fn rtt(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or_else(|_| "-".into(), |time| format!("{time:.1?}"))
}

/// Returns an age in the largest unit that it fills.
pub(super) fn age(seconds: f64) -> String {
    // The number of an answer may be any.
    match seconds.max(0.0) as u64 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_shown_in_their_largest_unit() {
        let ages = [0.9, 59.0, 60.0, 7_300.0, 200_000.0, -5.0, f64::NAN].map(age);
        assert_eq!(ages, ["0 s", "59 s", "1 min", "2 h", "2 d", "0 s", "0 s"]);
    }
}
