//! Peers that speak another protocol, told by the bytes that stand where the length of a message belongs.

/// The first bytes of protocols that people connect to by mistake. Each is a length beyond the maximum of every datapath.
const FIRST_BYTES: [(&[u8; 4], &str); 14] = [
    (b"HTTP", "HTTP"),
    (b"GET ", "HTTP"),
    (b"HEAD", "HTTP"),
    (b"POST", "HTTP"),
    (b"PUT ", "HTTP"),
    (b"DELE", "HTTP"),
    (b"CONN", "HTTP"),
    (b"OPTI", "HTTP"),
    (b"TRAC", "HTTP"),
    (b"PATC", "HTTP"),
    (b"PRI ", "HTTP/2"),
    (b"SSH-", "SSH"),
    (b"INFO", "NATS"),
    (b"-ERR", "the protocol of Redis"),
];

/// The types of the records that begin a TLS stream (RFC 8446, 5.1): an alert, and a handshake.
const TLS_RECORDS: [u8; 2] = [0x15, 0x16];

/// The first byte of each version of TLS's records (RFC 8446, 5.1).
const TLS_MAJOR: u8 = 3;

/// Returns the name of the protocol whose streams begin with `bytes`, if it is a known one.
pub(super) fn protocol(bytes: [u8; 4]) -> Option<&'static str> {
    let [record, major, ..] = bytes;
    if TLS_RECORDS.contains(&record) && major == TLS_MAJOR {
        return Some("TLS");
    }
    FIRST_BYTES.iter().find(|(first, _)| **first == bytes).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::TooLarge;
    use super::*;

    /// The largest message that any datapath can be set to carry.
    const LARGEST: usize = 127 << 20;

    #[test]
    fn no_protocol_is_taken_for_a_message() {
        for (bytes, _) in FIRST_BYTES {
            assert!(u32::from_be_bytes(*bytes) as usize > LARGEST, "{bytes:?}");
        }
        assert!(u32::from_be_bytes([TLS_RECORDS[0], TLS_MAJOR, 0, 0]) as usize > LARGEST);
    }

    #[test]
    fn a_peer_with_another_protocol_is_called_by_its_name() {
        let told = |bytes| TooLarge(u32::from_be_bytes(bytes) as usize).told(LARGEST);
        assert_eq!(
            told(*b"HTTP"),
            "the peer speaks HTTP: its stream has \"HTTP\" where the length of a message belongs"
        );
        assert!(told(*b"GET ").starts_with("the peer speaks HTTP: "));
        assert!(
            told([0x16, 3, 1, 2]).starts_with("the peer speaks TLS: its stream has \"\\x16\\x03\\x01\\x02\"")
        );
        assert_eq!(
            told(*b"ABCD"),
            format!("the peer announced a message of {} bytes, at most {LARGEST} fit", 0x41424344)
        );
    }
}
