//! Messages as bodies and attributes.

/// Name of the attribute that carries a message which is no text.
pub(crate) const ATTRIBUTE: &str = "bertha.payload";

/// Type of this attribute.
pub(crate) const BINARY: &str = "Binary";

/// Type of this attribute for an empty message, since attributes can't be empty: its single byte is not part
/// of the message.
pub(crate) const EMPTY: &str = "Binary.empty";

/// Body of a message that is in the attribute, since bodies can't be empty.
pub(crate) const NO_BODY: &str = "-";

/// Number of bytes of the service's limit that body, name and type of an attribute take.
pub(crate) const OVERHEAD: usize = NO_BODY.len() + ATTRIBUTE.len() + BINARY.len();

/// A message as the service carries it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Encoded<'a> {
    /// The message is the body.
    Body(&'a str),
    /// The message is in the attribute, with this type and this value.
    Attribute(&'static str, &'a [u8]),
}

/// Encodes a message in its shortest form.
pub(crate) fn encode(payload: &[u8]) -> Encoded<'_> {
    if payload.is_empty() {
        return Encoded::Attribute(EMPTY, &[0]);
    }
    match std::str::from_utf8(payload) {
        Ok(text) if text.chars().all(is_allowed) => Encoded::Body(text),
        _ => Encoded::Attribute(BINARY, payload),
    }
}

/// Decodes a received message from its body, and from type and value of its attribute if it has one.
pub(crate) fn decode(body: Option<String>, attribute: Option<(String, Vec<u8>)>) -> Vec<u8> {
    match attribute {
        Some((kind, _)) if kind == EMPTY => Vec::new(),
        Some((_, value)) => value,
        None => body.unwrap_or_default().into_bytes(),
    }
}

/// Returns true for the characters of XML 1.0, which are the characters that the service accepts.
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(payload: &[u8]) -> Vec<u8> {
        match encode(payload) {
            Encoded::Body(text) => decode(Some(text.into()), None),
            Encoded::Attribute(kind, value) => {
                decode(Some(NO_BODY.into()), Some((kind.into(), value.into())))
            }
        }
    }

    #[test]
    fn messages_come_back_as_they_were() {
        for payload in [
            &b""[..],
            b"{\"key\": 1}\r\n",
            b"\x00",
            b"\xff\xfe",
            "\u{FFFF}".as_bytes(),
            b"-",
            "\u{10FFFF}".as_bytes(),
        ] {
            assert_eq!(round_trip(payload), payload);
        }
    }

    #[test]
    fn text_is_the_body_as_it_stands() {
        assert_eq!(encode(b"{\"key\": 1}"), Encoded::Body("{\"key\": 1}"));
    }

    #[test]
    fn characters_that_the_service_refuses_are_no_text() {
        for text in ["\0", "\u{1b}", "\u{FFFE}", "\u{FFFF}"] {
            assert_eq!(encode(text.as_bytes()), Encoded::Attribute(BINARY, text.as_bytes()));
        }
    }
}
