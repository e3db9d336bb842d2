//! The table for the terminal, and cells for the page.

use super::{Budget, Row};

/// Prints the rows under a heading, columns aligned.
#[allow(clippy::print_stdout, reason = "the table is the program's output")]
pub(super) fn print(rows: &[Row]) {
    println!("{}", render(rows));
}

fn render(rows: &[Row]) -> String {
    let heading = ["", "value", "unit", "interval", "budget", "ok"].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(heading).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 6] =
        std::array::from_fn(|column| lines.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let lines = lines.iter().map(|[name, value, unit, interval, budget, ok]| {
        let [n, v, u, i, b, _] = widths;
        format!("{name:n$}  {value:>v$} {unit:u$}  {interval:i$}  {budget:>b$}  {ok}").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns name, value, unit, interval, budget, and the verdict on the budget.
pub(super) fn cells(row: &Row) -> [String; 6] {
    let ok = match (row.is_kept(), row.is_close()) {
        (Some(true), false) => "yes",
        (Some(true), true) => "yes, close",
        (Some(false), false) => "NO",
        (Some(false), true) => "NO, close",
        (None, _) => "",
    };
    let budget = match row.budget {
        Some(Budget::AtMost(bound)) => format!("<= {}", shown(bound)),
        Some(Budget::AtLeast(bound)) => format!(">= {}", shown(bound)),
        Some(Budget::Between(low, high)) => format!("{} to {}", shown(low), shown(high)),
        None => String::new(),
    };
    let interval = row.interval.map(|(low, high)| format!("[{}, {}]", shown(low), shown(high)));
    let value = row.value.map(shown).unwrap_or_default();
    [row.name.clone(), value, row.unit.clone(), interval.unwrap_or_default(), budget, ok.to_owned()]
}

/// Formats small figures with three decimals, large figures without.
fn shown(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.3}"),
        middling if middling < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |name: &str, value, interval, budget| Row {
            name: name.into(),
            value: Some(value),
            unit: "us".into(),
            interval,
            budget,
        };
        let table = render(&[
            row("a", 41.25, None, None),
            row("longer", 123_456.7, Some((0.9, 1.0)), Some(Budget::AtMost(0.97))),
        ]);
        let expected = "         value unit  interval          budget  ok\n\
                        a         41.2 us\n\
                        longer  123457 us    [0.900, 1.000]  <= 0.970  NO, close";
        assert_eq!(table, expected);
    }
}
