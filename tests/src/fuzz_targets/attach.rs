//! Messages between applications and the daemon of typed calls.

use bertha_managed::Descriptor;
use bertha_managed::attach::{Answer, Hello, Role};

/// The header of a hello up to its role, without the number of bytes behind the header.
const BEGIN: [u8; 8] = *b"berpc\0\0\x01";

/// Reads the bytes as a hello, as an answer of the daemon, and as a descriptor, and what is read is written as it was. The bytes of a hello
/// are also read with the begin and the length that no fuzzer guesses.
pub fn messages(bytes: &[u8]) {
    if let Some((header, rest)) = bytes.split_first_chunk::<{ Hello::HEADER }>() {
        hello(header, rest);
        let mut header = *header;
        header[..8].copy_from_slice(&BEGIN);
        header[8..12].copy_from_slice(&(rest.len() as u32).to_le_bytes());
        hello(&header, rest);
    }
    if let Some(bytes) = bytes.first_chunk()
        && let Ok(answer) = Answer::read(bytes)
    {
        assert_eq!(answer.to_bytes(), *bytes);
    }
    if let Some(bytes) = bytes.first_chunk()
        && let Ok(descriptor) = Descriptor::read(bytes)
    {
        let mut written = descriptor.to_bytes();
        // Kinds of failures that a later version has are read as one that is known.
        if matches!(descriptor, Descriptor::Failure { .. }) {
            assert_eq!(Descriptor::read(&written), Ok(descriptor));
            written[1] = bytes[1];
        }
        assert_eq!(written, *bytes);
    }
}

fn hello(header: &[u8; Hello::HEADER], rest: &[u8]) {
    let told = Hello::rest(header);
    assert!(told.as_ref().is_ok_and(|told| *told <= Hello::LONGEST) || told.is_err());
    let Ok(hello) = Hello::read(header, rest) else { return };
    assert_eq!(told, Ok(rest.len()));
    assert_eq!(hello.to_bytes(), Ok([header, rest].concat()));
}

/// Returns a hello with this schema.
pub fn good_hello(role: Role, descriptors: &[u8]) -> Vec<u8> {
    let hello = Hello {
        role,
        application: "front".into(),
        service: "the inn".into(),
        send_heap: 1 << 40,
        receive_heap: 2 << 40,
        descriptors: descriptors.into(),
    };
    hello.to_bytes().expect("names that a hello may have")
}
