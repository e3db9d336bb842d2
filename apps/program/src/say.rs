//! Standard output, which its reader may close at any time.

use std::io::{self, Write};

/// Writes text and the end of the line to standard output. A reader that has gone is no reason to stop, and
/// no error.
pub fn say(text: impl AsRef<str>) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{}", text.as_ref()).and_then(|()| out.flush());
}
