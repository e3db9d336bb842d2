//! What a pass did, for a person who asks.

use crate::Node;
use crate::describe::Explanation;
use std::fmt;

/// What one pass changed in one stack, or why it changed nothing.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pass: &'static str,
    changes: Vec<String>,
    /// Whether the pattern stood somewhere, and the rule's condition didn't hold there.
    unfit: bool,
    reason: Option<String>,
}

impl Report {
    pub(super) fn of(pass: &'static str) -> Self {
        Self { pass, ..Self::default() }
    }

    /// The pass.
    pub fn pass(&self) -> &'static str {
        self.pass
    }

    /// Each change, as in `Pad / Checksum became PaddedChecksum`.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Why nothing was changed; `None` if something was.
    pub fn reason(&self) -> Option<&str> {
        if self.changes.is_empty() { self.reason.as_deref() } else { None }
    }

    /// Says that the pass replaced `before` by `after`.
    pub fn changed(&mut self, before: impl fmt::Display, after: impl fmt::Display) {
        self.changes.push(format!("{before} became {after}"));
    }

    /// Says why the pass has changed nothing.
    pub fn unchanged(&mut self, reason: impl Into<String>) {
        self.reason = Some(reason.into());
    }

    pub(super) fn replaced(&mut self, before: &[Node], after: &[Node]) {
        self.changed(Explanation::of(before), Explanation::of(after));
    }

    /// Says that the pattern matched somewhere, but the rule's condition did not hold there.
    pub(super) fn unfit(&mut self) {
        self.unfit = true;
    }

    pub(super) fn was_unfit(&self) -> bool {
        self.unfit
    }

    pub(super) fn append(&mut self, below: Self) {
        self.changes.extend(below.changes);
        self.unfit |= below.unfit;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.pass)?;
        if self.changes.is_empty() {
            return write!(f, "changed nothing: {}", self.reason.as_deref().unwrap_or("it did not match"));
        }
        f.write_str(&self.changes.join("; "))
    }
}
