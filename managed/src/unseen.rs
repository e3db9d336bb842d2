//! Characters that do not show.

/// Returns true for a character that does not show, or changes how others do: controls, marks of the writing direction, ends of lines and
/// of paragraphs (the categories Cc, Cf, Zl and Zp of Unicode 15). A name or a log with one of them can look like another.
pub fn is_unseen(letter: char) -> bool {
    letter.is_control() || UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

/// The first and the last of each range, in their order.
const UNSEEN: [(char, char); 20] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_changes_of_direction_do_not_show_and_letters_do() {
        let unseen = "\0\n\u{7f}\u{9b}\u{ad}\u{200b}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{feff}\u{e0041}";
        assert!(unseen.chars().all(is_unseen));
        let seen = "aZ9-_./ \u{a0}Größe日本\u{5d0}\u{627}\u{200a}\u{2010}\u{2027}\u{202f}\u{205f}\u{1f600}";
        assert!(!seen.contains(is_unseen));
        assert!(UNSEEN.is_sorted_by(|one, next| one.1 < next.0));
    }
}
