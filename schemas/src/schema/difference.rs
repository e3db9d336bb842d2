//! The first difference of two schemas.

use super::Schema;
use std::cmp::Ordering;
use std::fmt;

/// The first line of the canonical forms by which two schemas differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line here that the other schema lacks, if there is one about the same thing.
    pub here: Option<String>,
    /// The line of the other schema that is missing here, if there is one about the same thing.
    pub there: Option<String>,
}

impl Schema {
    /// Returns the first difference to another schema's [canonical form](Self::lines), or `None` if they are equal.
    pub fn difference<L: AsRef<str>>(&self, there: &[L]) -> Option<Difference> {
        let mut here = self.lines.iter().map(String::as_str);
        let mut there = there.iter().map(AsRef::as_ref);
        loop {
            let (ours, theirs) = (here.next(), there.next());
            if ours == theirs {
                ours?;
                continue;
            }
            let owned = |line: Option<&str>| line.map(str::to_owned);
            let order = match (ours, theirs) {
                (Some(ours), Some(theirs)) => subject(ours).cmp(&subject(theirs)),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            return Some(match order {
                Ordering::Less => Difference { here: owned(ours), there: None },
                Ordering::Equal => Difference { here: owned(ours), there: owned(theirs) },
                Ordering::Greater => Difference { here: None, there: owned(theirs) },
            });
        }
    }
}

/// Returns the words of a line that say what it is about: its kind, its name, a number or name in there, and of an enumeration the name of
/// the value, since values may share a number.
fn subject(line: &str) -> [&str; 4] {
    let mut words = line.split(' ').map(Some).chain(std::iter::repeat(None)).map(Option::unwrap_or_default);
    let mut word = || words.next().unwrap_or_default();
    let (kind, name, part) = (word(), word(), word());
    [kind, name, part, if kind == "enum" { word() } else { "" }]
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.here, &self.there) {
            (Some(here), Some(there)) => write!(f, "here `{here}`, there `{there}`"),
            (Some(here), None) => write!(f, "`{here}` is here alone"),
            (None, Some(there)) => write!(f, "`{there}` is there alone"),
            (None, None) => f.write_str("no line differs"),
        }
    }
}
