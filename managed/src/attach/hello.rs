//! The first message of an application.

use super::Malformed;
use bertha_schemas::Schema;

/// The part of an application in its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The application makes calls.
    Caller,
    /// The application answers calls.
    Server,
}

/// An application that wants to be attached, with one service.
///
/// It begins with a header of 40 bytes; numbers are little-endian:
///
/// ```text
///  0 "berpc" 0 0 1   8 bytes behind the header   12 role   13 zero   14 bytes of the name   15 bytes of the service
///  16 send heap   24 receive heap   32 zero
/// ```
///
/// The name of the application, the name of the service and the descriptor set of the schema follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The part of the application.
    pub role: Role,
    /// The [name](is_name) by which operators know the application.
    pub application: String,
    /// The [name](is_name) by which callers find the server.
    pub service: String,
    /// The address at which the send heap begins.
    pub send_heap: u64,
    /// The address at which the receive heap begins.
    pub receive_heap: u64,
    /// The schema, as a descriptor set of protobuf.
    pub descriptors: Vec<u8>,
}

const MAGIC: [u8; 8] = *b"berpc\0\0\x01";

impl Hello {
    /// Number of bytes of the header.
    pub const HEADER: usize = 40;

    /// Number of bytes that may follow the header.
    pub const LONGEST: usize = 2 * u8::MAX as usize + Schema::LONGEST;

    /// Returns the bytes.
    ///
    /// # Errors
    /// Fails if a name is empty or too long, or if the schema is too long.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Malformed> {
        let name = length_of(&self.application).ok_or(NO_APPLICATION)?;
        let service = length_of(&self.service).ok_or(NO_SERVICE)?;
        let rest = usize::from(name) + usize::from(service) + self.descriptors.len();
        let rest = u32::try_from(rest).ok().filter(|rest| *rest as usize <= Self::LONGEST).ok_or(TOO_LONG)?;
        let mut bytes = Vec::with_capacity(Self::HEADER + rest as usize);
        bytes.extend(MAGIC);
        bytes.extend(rest.to_le_bytes());
        bytes.extend([role_number(self.role), 0, name, service]);
        bytes.extend(self.send_heap.to_le_bytes());
        bytes.extend(self.receive_heap.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(self.application.as_bytes());
        bytes.extend(self.service.as_bytes());
        bytes.extend(&self.descriptors);
        Ok(bytes)
    }

    /// Returns the number of bytes that follow a header.
    ///
    /// # Errors
    /// Fails for the header of another protocol, and of a message that is too long.
    pub fn rest(header: &[u8; Self::HEADER]) -> Result<usize, Malformed> {
        if header[..8] != MAGIC {
            return Err(Malformed {
                what: "the application speaks another protocol, or another version of it",
            });
        }
        let rest = number::<4>(&header[8..]) as usize;
        if rest <= Self::LONGEST { Ok(rest) } else { Err(TOO_LONG) }
    }

    /// Reads a header and what follows it.
    ///
    /// # Errors
    /// Fails for bytes that no application says.
    pub fn read(header: &[u8; Self::HEADER], rest: &[u8]) -> Result<Self, Malformed> {
        if Self::rest(header)? != rest.len() {
            return Err(Malformed { what: "the hello of the application is not as long as it says" });
        }
        // Bytes that this version does not use stand for nothing yet.
        if header[13] != 0 || header[32..] != [0; 8] {
            return Err(Malformed { what: "the hello of the application has bytes without a meaning" });
        }
        let role = match header[12] {
            1 => Role::Caller,
            2 => Role::Server,
            _ => return Err(Malformed { what: "the application has an unknown role" }),
        };
        let (application, rest) = name(rest, header[14]).ok_or(NO_APPLICATION)?;
        let (service, descriptors) = name(rest, header[15]).ok_or(NO_SERVICE)?;
        Ok(Self {
            role,
            application,
            service,
            send_heap: number::<8>(&header[16..]),
            receive_heap: number::<8>(&header[24..]),
            descriptors: descriptors.to_vec(),
        })
    }
}

const TOO_LONG: Malformed = Malformed { what: "the schema is longer than 1 MiB" };
const NO_APPLICATION: Malformed = Malformed {
    what: "the name of an application has 1 to 255 letters, digits and signs of ASCII, with single spaces between them",
};
const NO_SERVICE: Malformed = Malformed {
    what: "the name of a service has 1 to 255 letters, digits and signs of ASCII, with single spaces between them",
};

fn role_number(role: Role) -> u8 {
    match role {
        Role::Caller => 1,
        Role::Server => 2,
    }
}

fn length_of(name: &str) -> Option<u8> {
    u8::try_from(name.len()).ok().filter(|_| is_name(name))
}

/// Returns true for a name that an application or a service may have: 1 to 255 letters, digits and signs of ASCII, with single spaces between
/// them. So no two names look the same.
pub fn is_name(name: &str) -> bool {
    let has_words =
        name.split(' ').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic()));
    has_words && name.len() <= usize::from(u8::MAX)
}

/// Returns the name at the beginning of these bytes, and what follows it.
fn name(bytes: &[u8], length: u8) -> Option<(String, &[u8])> {
    let (name, rest) = bytes.split_at_checked(length.into())?;
    let name = std::str::from_utf8(name).ok().filter(|name| is_name(name))?;
    Some((name.to_owned(), rest))
}

/// Returns the number of the first `N` bytes, little-endian.
fn number<const N: usize>(bytes: &[u8]) -> u64 {
    bytes.iter().take(N).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            role: Role::Server,
            application: "front".into(),
            service: "hotel".into(),
            send_heap: 1 << 40,
            receive_heap: 2 << 40,
            descriptors: vec![1, 2, 3],
        }
    }

    fn split(bytes: &[u8]) -> (&[u8; Hello::HEADER], &[u8]) {
        bytes.split_first_chunk().unwrap()
    }

    #[test]
    fn a_hello_is_read_as_it_was_written() {
        let bytes = hello().to_bytes().unwrap();
        let (header, rest) = split(&bytes);
        assert_eq!((Hello::rest(header), Hello::read(header, rest)), (Ok(13), Ok(hello())));
        assert_eq!(header[..16], *b"berpc\0\0\x01\x0d\0\0\0\x02\0\x05\x05");
    }

    #[test]
    fn bytes_without_a_meaning_are_zero() {
        for at in (13..14).chain(32..Hello::HEADER) {
            let mut bytes = hello().to_bytes().unwrap();
            bytes[at] = 1;
            let (header, rest) = split(&bytes);
            assert!(Hello::read(header, rest).is_err(), "{at}");
        }
    }

    #[test]
    fn no_two_names_look_the_same() {
        for right in ["a", "hotel.Hotel", "the (new) desk", "~!", &"x".repeat(255)] {
            assert!(is_name(right), "{right}");
        }
        for wrong in [
            "",
            " ",
            "a\nb",
            "letoh\u{202e}",
            "ho\u{200b}tel",
            "desk\u{3164}",
            "desk\u{fe0f}",
            "desk\u{a0}",
            "d\u{435}sk",
            "de\u{301}sk",
            " desk",
            "desk ",
            "the  desk",
            "a\tb",
            &"x".repeat(256),
        ] {
            assert_eq!(Hello { service: wrong.into(), ..hello() }.to_bytes(), Err(NO_SERVICE));
            assert_eq!(Hello { application: wrong.into(), ..hello() }.to_bytes(), Err(NO_APPLICATION));
        }
        let mut bytes = hello().to_bytes().unwrap();
        bytes[Hello::HEADER] = b'\n';
        let (header, rest) = split(&bytes);
        assert_eq!(Hello::read(header, rest), Err(NO_APPLICATION));
    }

    #[test]
    fn what_is_too_long_is_refused_by_its_header() {
        let long = Hello { descriptors: vec![0; Hello::LONGEST], ..hello() };
        assert_eq!(long.to_bytes(), Err(TOO_LONG));
        let mut bytes = hello().to_bytes().unwrap();
        bytes[8..12].copy_from_slice(&(Hello::LONGEST as u32 + 1).to_le_bytes());
        assert_eq!(Hello::rest(split(&bytes).0), Err(TOO_LONG));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(header in any::<[u8; 32]>(), rest in any::<Vec<u8>>(), begins in any::<bool>()) {
            let mut whole = [0; Hello::HEADER];
            whole[..32].copy_from_slice(&header);
            if begins {
                whole[..8].copy_from_slice(&MAGIC);
                whole[8..12].copy_from_slice(&(rest.len() as u32).to_le_bytes());
                whole[12..14].copy_from_slice(&[1, 0]);
            }
            if let Ok(hello) = Hello::read(&whole, &rest) {
                prop_assert_eq!(hello.to_bytes().unwrap(), [&whole, &rest[..]].concat());
            }
        }
    }
}
