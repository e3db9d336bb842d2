//! Messages as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Length of the longest text of a message.
const LONGEST_TEXT: usize = 64 << 10;

/// Length of the longest message whose base64 is such a text.
pub(crate) const MAX_MESSAGE: usize = LONGEST_TEXT / 4 * 3;

pub(crate) fn encode(payload: &[u8]) -> String {
    STANDARD.encode(payload)
}

/// Decodes a text. Returns `None` if the text was not written by this crate or another program that uses
/// base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_message_is_the_longest_text() {
        assert_eq!(encode(&[0; MAX_MESSAGE]).len(), LONGEST_TEXT);
        assert!(encode(&[0; MAX_MESSAGE + 1]).len() > LONGEST_TEXT);
    }

    #[test]
    fn other_text_is_no_message() {
        assert_eq!(decode("hello!"), None);
        assert_eq!(decode(""), Some(Vec::new()));
    }
}
