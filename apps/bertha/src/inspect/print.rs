//! The output: a table for human readers, or a JSON object per line for programs.

use super::status::Status;
use bertha::{Error, ErrorKind};
use std::fmt::Write;
use tokio::io::{AsyncWriteExt, Stdout};

/// Writes statuses to standard output.
#[derive(Debug)]
pub(crate) struct Printer {
    out: Stdout,
    json: bool,
    headed: bool,
    widths: [usize; 4],
}

const HEADINGS: [&str; 5] = ["CONNECTION", "ROUND", "PARTICIPANTS", "STACK IN FORCE", "REMARKS"];

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        let mut widths = [0; 4];
        widths.iter_mut().zip(HEADINGS).for_each(|(width, heading)| *width = heading.len());
        Self { out: tokio::io::stdout(), json, headed: json, widths }
    }

    /// # Errors
    /// Fails if standard output is closed.
    pub(crate) async fn print(&mut self, statuses: &[&Status]) -> Result<(), Error> {
        let mut text = String::new();
        if self.json {
            for status in statuses {
                text += &serde_json::to_string(status)
                    .map_err(|error| Error::new(ErrorKind::Io, "cannot be written as JSON").because(error))?;
                text.push('\n');
            }
        } else {
            let rows: Vec<[String; 5]> = statuses.iter().map(|status| row(status)).collect();
            for row in &rows {
                self.widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(cell.len()));
            }
            if !std::mem::replace(&mut self.headed, true) {
                self.line(&mut text, &HEADINGS);
            }
            rows.iter().for_each(|row| self.line(&mut text, row));
        }
        self.out.write_all(text.as_bytes()).await?;
        Ok(self.out.flush().await?)
    }

    fn line(&self, text: &mut String, cells: &[impl AsRef<str>; 5]) {
        let at = text.len();
        for (cell, width) in cells.iter().zip(self.widths) {
            // Writing to a string can't fail.
            let _ = write!(text, "{:width$}  ", cell.as_ref());
        }
        text.push_str(cells[4].as_ref());
        text.truncate(at + text[at..].trim_end().len());
        text.push('\n');
    }
}

fn row(status: &Status) -> [String; 5] {
    [
        status.name.clone(),
        status.round.map_or("-".into(), |round| round.to_string()),
        status.participants.len().to_string(),
        status.stack.clone().unwrap_or("-".into()),
        status.remark(),
    ]
}
