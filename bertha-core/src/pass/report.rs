//! The report of a pass, for a person to read.

use super::wire;
use crate::{Explanation, Node};
use std::fmt;

/// The changes of one pass in one stack, or the reason why it changed nothing.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pass: &'static str,
    changes: Vec<String>,
    /// True if the pattern matched somewhere, but the rule's condition did not hold there.
    unfit: bool,
    reason: Option<String>,
    changes_wire: bool,
}

impl Report {
    pub(super) fn of(pass: &'static str) -> Self {
        Self { pass, ..Self::default() }
    }

    /// Returns the name of the pass.
    pub fn pass(&self) -> &'static str {
        self.pass
    }

    /// Returns the changes, each as in `Pad / Checksum became PaddedChecksum`.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Returns true if the other end sees another stack than before, so that it needs the pass as well. The
    /// answer is known for rules; any other pass reports it with
    /// [`set_changes_wire`](Self::set_changes_wire).
    pub fn changes_wire(&self) -> bool {
        self.changes_wire
    }

    /// Returns the reason why the pass changed nothing; `None` if it changed something.
    pub fn reason(&self) -> Option<&str> {
        if self.changes.is_empty() { self.reason.as_deref() } else { None }
    }

    /// Records that the pass replaced `before` by `after`.
    pub fn changed(&mut self, before: impl fmt::Display, after: impl fmt::Display) {
        self.changes.push(format!("{before} became {after}"));
    }

    /// Records that the other end sees another stack than before: other two-sided Chunnels, or the same
    /// Chunnels in another order.
    pub fn set_changes_wire(&mut self) {
        self.changes_wire = true;
    }

    /// Records why the pass has changed nothing.
    pub fn unchanged(&mut self, reason: impl Into<String>) {
        self.reason = Some(reason.into());
    }

    pub(super) fn replaced(&mut self, before: &[Node], after: &[Node]) {
        self.changed(Explanation::of(before), Explanation::of(after));
        self.changes_wire |= wire::differs(before, after);
    }

    /// Records that the pattern matched somewhere, but the rule's condition did not hold there.
    pub(super) fn unfit(&mut self) {
        self.unfit = true;
    }

    pub(super) fn was_unfit(&self) -> bool {
        self.unfit
    }

    pub(super) fn append(&mut self, below: Self) {
        self.changes.extend(below.changes);
        self.unfit |= below.unfit;
        self.changes_wire |= below.changes_wire;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.pass)?;
        if self.changes.is_empty() {
            return write!(f, "changed nothing: {}", self.reason.as_deref().unwrap_or("it did not match"));
        }
        f.write_str(&self.changes.join("; "))?;
        f.write_str(if self.changes_wire {
            "; this changes the wire, so both ends need the pass"
        } else {
            ""
        })
    }
}
