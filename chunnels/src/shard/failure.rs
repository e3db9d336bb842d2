//! What becomes of errors where one connection stands for several.

use bertha_core::{Addr, Error, ErrorKind};

/// Says which shard `error` came from.
#[cold]
pub(super) fn of_shard(chunnel: &'static str, number: usize, addr: &Addr, error: Error) -> Error {
    let what = format!("shard {number} at {addr} failed: {}", error.context());
    Error::new(error.kind(), what).at(chunnel).because(error)
}

/// Whether the connection works on: only the message that was to be sent is lost, since it can't be sent at all or
/// there was no buffer for it just now.
pub(super) fn is_of_one_message(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TooLarge | ErrorKind::Malformed | ErrorKind::Exhausted)
}
