//! Foreign text in a form that may go to a terminal.

/// Returns `text` with every character that a terminal could obey, or that does not show, as an escape. Every
/// writer of the store chooses names of Chunnels and reasons of refusals.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_the_rest_stays() {
        assert_eq!(escaped("Tls / \"Größe\" won't"), "Tls / \"Größe\" won't");
        // The text has an escape, its C1 form, the end of a line, and a change of the writing direction.
        assert_eq!(escaped("\u{1b}[2J\u{9b}2J\n\u{202e}"), r"\u{1b}[2J\u{9b}2J\n\u{202e}");
        assert_eq!(escaped(r"\n"), r"\\n");
    }
}
