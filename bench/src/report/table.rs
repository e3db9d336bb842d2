//! The table for the terminal.

use super::Row;

/// Prints the rows under a heading, columns aligned.
#[allow(clippy::print_stdout, reason = "the table is the program's output")]
pub(super) fn print(rows: &[Row]) {
    println!("{}", render(rows));
}

fn render(rows: &[Row]) -> String {
    let heading = ["", "value", "unit", "budget", "ok"].map(str::to_owned);
    let cells: Vec<[String; 5]> = std::iter::once(heading).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let lines = cells.iter().map(|[name, value, unit, budget, ok]| {
        let [n, v, u, b, _] = widths;
        format!("{name:n$}  {value:>v$} {unit:u$}  {budget:>b$}  {ok}").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn cells(row: &Row) -> [String; 5] {
    let ok = match row.ok {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "",
    };
    let number = |number: Option<f64>| number.map(shown).unwrap_or_default();
    [row.name.clone(), number(row.value), row.unit.clone(), number(row.budget), ok.to_owned()]
}

/// Small figures with three decimals, large ones without.
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
        let row =
            |name: &str, value, budget, ok| Row { name: name.into(), value, unit: "us".into(), budget, ok };
        let table = render(&[
            row("a", Some(41.25), None, None),
            row("longer", Some(123_456.7), Some(0.97), Some(false)),
        ]);
        assert_eq!(
            table,
            "         value unit  budget  ok\na         41.2 us\nlonger  123457 us     0.970  NO"
        );
    }
}
