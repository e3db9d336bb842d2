//! The report of a pass, for a person to read.

use super::wire;
use crate::{Explanation, Node};
use std::fmt;
use std::panic::Location;

/// The reason of a pass that gave none.
const NO_MATCH: &str = "it did not match";

/// The changes of one pass in one stack, or the reason why it changed nothing.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pass: &'static str,
    place: Option<&'static Location<'static>>,
    /// True if [`passes!`](crate::passes) named the pass for all stacks of a crate.
    for_crate: bool,
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

    /// Records where the stack is made.
    pub(super) fn set_place(&mut self, place: &'static Location<'static>, for_crate: bool) {
        self.place = Some(place);
        self.for_crate = for_crate;
    }

    /// Returns the name of the pass.
    pub fn pass(&self) -> &'static str {
        self.pass
    }

    /// Returns the place of the [`make_stack!`](crate::make_stack) or [`optimize!`](crate::optimize) whose stack the
    /// pass has rewritten. If another macro expands to it, the place is that of the outermost macro. `None` outside of
    /// both macros.
    pub fn place(&self) -> Option<&'static Location<'static>> {
        self.place
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

    /// Returns true if `explain` shows the report: a pass for all stacks of a crate changes most of them not at all.
    pub(super) fn is_shown(&self) -> bool {
        !self.for_crate || !self.changes.is_empty()
    }

    /// Returns true if both reports tell of the same changes at the same place.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        self.place.is_some()
            && (self.pass, self.place, &self.changes) == (other.pass, other.place, &other.changes)
    }

    /// Tells of the pass in the log.
    pub(super) fn tell(&self) {
        let Self { pass, .. } = self;
        let place = self.short_place().map(tracing::field::display);
        if self.changes.is_empty() {
            let reason = self.reason.as_deref().unwrap_or(NO_MATCH);
            tracing::trace!(target: "bertha::passes", pass, place, reason, "a pass leaves a stack as it is");
        } else {
            let changes = self.changes.join("; ");
            tracing::debug!(target: "bertha::passes", pass, place, changes, "a pass has changed a stack");
        }
    }

    /// Returns the file within its crate, and the line.
    fn short_place(&self) -> Option<impl fmt::Display> {
        self.place
            .map(|place| fmt::from_fn(move |f| write!(f, "{}:{}", within_crate(place.file()), place.line())))
    }

    pub(super) fn append(&mut self, below: Self) {
        self.changes.extend(below.changes);
        self.unfit |= below.unfit;
        self.changes_wire |= below.changes_wire;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pass)?;
        if let Some(place) = self.short_place().filter(|_| self.for_crate) {
            write!(f, " at {place}")?;
        }
        f.write_str(": ")?;
        if self.changes.is_empty() {
            return write!(f, "changed nothing: {}", self.reason.as_deref().unwrap_or(NO_MATCH));
        }
        f.write_str(&self.changes.join("; "))?;
        f.write_str(if self.changes_wire {
            "; this changes the wire, so both ends need the pass"
        } else {
            ""
        })
    }
}

/// Returns the path of a file from its crate's `src` on; the compiler's path if there is no such folder in it.
fn within_crate(file: &str) -> &str {
    file.rfind("/src/").map_or(file, |folder| &file[folder + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_place_begins_in_its_crate() {
        assert_eq!(within_crate("apps/kvstore/src/server/router.rs"), "src/server/router.rs");
        assert_eq!(within_crate("/home/src/kvstore/src/main.rs"), "src/main.rs");
        assert_eq!(within_crate("src/main.rs"), "src/main.rs");
        assert_eq!(within_crate("tests/whole.rs"), "tests/whole.rs");
    }
}
