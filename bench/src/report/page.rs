//! The pages of results: for each kind of processor a page with all rows of all programs, rows that miss their budgets first, with the
//! machine and the last runs of long tests; and `bench/RESULTS.md`, which names them.

use super::{Machine, Report, Row, directory, managed, table, thesis};
use crate::{Error, ErrorKind};
use std::fmt::Write;
use std::path::Path;

/// A program whose rows are on the page.
pub(crate) struct Section {
    /// The program's name.
    pub(crate) name: &'static str,
    /// Purpose of the program, in a single sentence.
    pub(crate) about: String,
    /// The error, if the program ran and failed.
    pub(crate) failure: Option<String>,
}

/// Tests that take too long for every change, of which a script keeps a summary.
#[derive(Clone, Copy)]
struct Long {
    title: &'static str,
    about: &'static str,
    /// Name of the file that the script writes.
    summary: &'static str,
}

const LONG: [Long; 3] = [
    Long {
        title: "Seeds",
        about: "The last runs of `scripts/night`: tests of crashes, faults and attackers, with thousands of seeds each.",
        summary: "night.md",
    },
    Long {
        title: "Caladan",
        about: "The last runs of `scripts/caladan soak` and of `scripts/caladan vm-tests`, which has the real kernel module in an emulated machine.",
        summary: "caladan.md",
    },
    Long {
        title: "Changed code",
        about: "The last runs of `scripts/mutants`: code without I/O is changed in one place, and a test has to notice.",
        summary: "mutants.md",
    },
];

/// Writes the page of a machine's processor and its figures into a folder of `place/results`, from the reports that full runs of the
/// programs have published, and the list of pages into `place/RESULTS.md`.
///
/// # Errors
/// [`ErrorKind::Report`] when a file can't be written.
pub(crate) fn write(place: &Path, machine: &Machine, sections: &[Section]) -> Result<(), Error> {
    let reports: Vec<_> = sections.iter().map(|section| Report::published(section.name).ok()).collect();
    // Without its file, a script was never run on this tree.
    let summary = |name| std::fs::read_to_string(place.join(name)).unwrap_or_default();
    let long = LONG.map(|long| (long, summary(long.summary)));
    let page = render(sections, &reports, &machine.describe(), &long);
    let folder = place.join("results").join(machine.folder());
    let copy = |name: &String| std::fs::copy(directory().join(name), folder.join(name)).map(drop);
    std::fs::create_dir_all(&folder)
        .and_then(|()| reports.iter().flatten().flat_map(|report| &report.drawings).try_for_each(copy))
        .and_then(|()| std::fs::write(folder.join("RESULTS.md"), page))
        .and_then(|()| std::fs::write(place.join("RESULTS.md"), list(&place.join("results"))?))
        .map_err(Error::while_doing(ErrorKind::Report, format!("writing {}", place.display())))
}

/// Returns the list of the pages in a folder, by the first line of each that describes its machine, and by its number of missed budgets.
fn list(folder: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Ok(page) = std::fs::read_to_string(folder.join(&name).join("RESULTS.md")) else { continue };
        let after = |start: &str| page.lines().find_map(|line| line.strip_prefix(start)).unwrap_or("unknown");
        let machine = after("* ");
        lines.push(format!(
            "* [{machine}](results/{name}/RESULTS.md): commit {}, missed budgets {}\n",
            after("* commit "),
            after("## Missed budgets: "),
        ));
    }
    lines.sort();
    Ok(format!(
        "# Results\n\nWritten by `scripts/bench`; do not edit. A page for each kind of processor:\n\n{}",
        lines.concat()
    ))
}

// Writing to a `String` can't fail, so the results of `write!` are dropped.
fn render(
    sections: &[Section],
    reports: &[Option<Report>],
    machine: &[String],
    long: &[(Long, String)],
) -> String {
    let mut page = String::from(
        "# Results\n\n\
         Written by `scripts/bench`; do not edit. A row is judged by its median against its budget (`NO` where it is missed).\n\
         Intervals are those of 95 %, of medians of runs in turn (ABBA order). `close` marks a row whose budget lies within its interval:\n\
         the next run may judge otherwise. Instructions are those of user space, by callgrind.\n\n",
    );
    for line in machine {
        let _ = writeln!(page, "* {line}");
    }
    let rows =
        || sections.iter().zip(reports).filter_map(|(section, report)| Some((section, report.as_ref()?)));
    let missed = || rows().flat_map(|(section, report)| report.rows.iter().map(move |row| (section, row)));
    let missed: Vec<_> = missed().filter(|(_, row)| row.is_kept() == Some(false)).collect();
    let judged = rows().flat_map(|(_, report)| &report.rows).filter(|row| row.is_kept().is_some()).count();
    let _ = writeln!(page, "\n## Missed budgets: {} of {judged}\n", missed.len());
    if !missed.is_empty() {
        page.push_str(
            "| program | row | value | unit | interval | budget | kept |\n|---|---|--:|---|---|---|---|\n",
        );
    }
    for (section, row) in missed {
        let _ = writeln!(page, "| `{}` | {} |", section.name, table::cells(row).join(" | "));
    }
    thesis::append(&mut page);
    managed::append(&mut page);
    for (section, report) in sections.iter().zip(reports) {
        let _ = writeln!(page, "\n## `{}`\n\n{}", section.name, section.about);
        if let Some(failure) = &section.failure {
            let _ = writeln!(page, "\n**Failed: {failure}**");
        } else if let Some(report) = report {
            append(&mut page, report);
        } else {
            page.push_str("\nNot run.\n");
        }
    }
    let written = |line: &&str| !line.starts_with("<!--");
    for (Long { title, about, .. }, summary) in long {
        let _ = writeln!(page, "\n## {title}\n\n{about}\n");
        match summary.as_str() {
            "" => page.push_str("Not run.\n"),
            summary => summary.lines().filter(written).for_each(|line| {
                let _ = writeln!(page, "{line}");
            }),
        }
    }
    page
}

fn append(page: &mut String, report: &Report) {
    if !report.origin.is_empty() {
        let _ = writeln!(page, "\nMeasured on {}.", report.origin);
    }
    page.push_str("\n| row | value | unit | interval | budget | kept |\n|---|--:|---|---|---|---|\n");
    // Rows that miss their budgets come first, then rows that keep them, then rows without a budget.
    let rank = |row: &&Row| row.is_kept().map_or(2, u8::from);
    let mut rows: Vec<_> = report.rows.iter().collect();
    rows.sort_by_key(rank);
    for row in rows {
        let _ = writeln!(page, "| {} |", table::cells(row).join(" | "));
    }
    for drawing in &report.drawings {
        let _ = writeln!(page, "\n![{drawing}]({drawing})");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Budget;

    #[test]
    fn what_is_missed_stands_first() {
        let mut report = Report::new("p");
        report.origin = "2026-11-28, commit 0123".into();
        report.figure("unbounded", 1.0, "s");
        report.bounded("within", 1.0, "s", Budget::AtMost(2.0));
        report.bounded("beyond", 3.0, "s", Budget::AtMost(2.0));
        let section = |name| Section { name, about: String::new(), failure: None };
        let long = [(LONG[0], "<!-- by a script -->\n| upgrade |".into()), (LONG[1], String::new())];
        let page = render(&[section("p"), section("q")], &[Some(report), None], &[], &long);
        assert!(page.contains("## Missed budgets: 1 of 2"), "{page}");
        let [seeds, caladan] =
            ["\n## Seeds\n", "\n## Caladan\n"].map(|title| page.split(title).nth(1).unwrap());
        assert!(seeds.contains("\n\n| upgrade |\n") && caladan.ends_with("\n\nNot run.\n"), "{page}");
        let rows = page.split("## `p`").nth(1).unwrap();
        assert!(rows.contains("Measured on 2026-11-28, commit 0123.\n\n| row"), "{rows}");
        let position = |name| rows.find(name).unwrap();
        assert!(
            position("| beyond") < position("| within") && position("| within") < position("| unbounded")
        );
        assert!(rows.contains("Not run."));
    }

    #[test]
    fn each_kind_of_processor_has_a_line() {
        let folder = std::env::temp_dir().join(format!("bertha-pages-{}", std::process::id()));
        for (name, page) in
            [("b", "* B (2 cores)\n* commit 1\n\n## Missed budgets: 1 of 2\n"), ("a", "* A\n")]
        {
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join("RESULTS.md"), page).unwrap();
        }
        let list = list(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let lines: Vec<_> = list.lines().filter(|line| line.starts_with('*')).collect();
        assert_eq!(
            lines,
            [
                "* [A](results/a/RESULTS.md): commit unknown, missed budgets unknown",
                "* [B (2 cores)](results/b/RESULTS.md): commit 1, missed budgets 1 of 2",
            ]
        );
    }
}
