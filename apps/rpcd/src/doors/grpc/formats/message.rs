//! The message of a request or response, behind its length.

use super::status::Status;
use crate::failures::code::Code;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Number of bytes in front of a message: one tells of compression, and four are the length.
pub(crate) const PREFIX: usize = 5;

/// Returns the body with one message.
pub(crate) fn body(encoded: &[u8]) -> Bytes {
    let mut body = BytesMut::with_capacity(PREFIX + encoded.len());
    body.put_u8(0);
    // Messages are limited to 4 MiB.
    body.put_u32(encoded.len() as u32);
    body.put_slice(encoded);
    body.freeze()
}

/// Returns the message of a body that is whole.
///
/// # Errors
/// Fails for a body with no message or several, and for one that is compressed.
pub(crate) fn message(body: &[u8]) -> Result<&[u8], Status> {
    let malformed = |what: &str| Status::new(Code::Internal, what);
    let (prefix, message) =
        body.split_first_chunk::<PREFIX>().ok_or_else(|| malformed("the body has no message"))?;
    let [compression, length @ ..] = *prefix;
    if compression != 0 {
        return Err(Status::new(Code::Unimplemented, "messages are not compressed here"));
    }
    match message.len().cmp(&(u32::from_be_bytes(length) as usize)) {
        std::cmp::Ordering::Equal => Ok(message),
        std::cmp::Ordering::Less => Err(malformed("the body ends in its message")),
        std::cmp::Ordering::Greater => Err(malformed("the body has more than one message")),
    }
}

/// Returns the length that the bytes announce for their first message. Returns `None` while they do not.
///
/// # Errors
/// Fails for a message of more than so many bytes, and for one that is compressed.
pub(crate) fn check(bytes: &[u8], most: usize) -> Result<Option<usize>, Status> {
    let Some([compression, length @ ..]) = bytes.first_chunk::<PREFIX>().copied() else { return Ok(None) };
    let length = u32::from_be_bytes(length) as usize;
    if compression != 0 {
        return Err(Status::new(Code::Unimplemented, "messages are not compressed here"));
    }
    if length > most {
        return Err(too_long(most));
    }
    Ok(Some(length))
}

/// Returns the status of a message that is longer than it may be.
#[cold]
pub(crate) fn too_long(most: usize) -> Status {
    Status::too_large(&format!("the message has more than {most} bytes"))
}

/// Takes the first message of a stream out of the bytes that have come. Returns `None` while it is not whole.
///
/// # Errors
/// Fails for a message of more than so many bytes, and for one that is compressed.
pub(crate) fn take(bytes: &mut BytesMut, most: usize) -> Result<Option<Bytes>, Status> {
    let Some(length) = check(bytes, most)? else { return Ok(None) };
    if bytes.len() < PREFIX + length {
        return Ok(None);
    }
    let mut message = bytes.split_to(PREFIX + length);
    message.advance(PREFIX);
    Ok(Some(message.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_one_whole_message() {
        for length in [0, 1, 300] {
            let encoded = vec![7; length];
            assert_eq!(message(&body(&encoded)).unwrap(), encoded);
        }
        let code = |body: &[u8]| message(body).unwrap_err().code;
        for wrong in
            [&[][..], &[0, 0, 0, 0], &[0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 9], &[0, 255, 255, 255, 255, 1]]
        {
            assert_eq!(code(wrong), Code::Internal, "{wrong:?}");
        }
        assert_eq!(code(&[1, 0, 0, 0, 0]), Code::Unimplemented);
    }

    #[test]
    fn messages_of_a_stream_come_one_by_one() {
        let whole = [body(b"one"), body(b""), body(b"two")].concat();
        let (mut bytes, mut messages) = (BytesMut::new(), Vec::new());
        for byte in whole {
            bytes.put_u8(byte);
            messages.extend(take(&mut bytes, 3).unwrap());
        }
        assert_eq!(messages, [&b"one"[..], b"", b"two"]);
        let code = |bytes: &[u8]| take(&mut BytesMut::from(bytes), 3).unwrap_err().code;
        assert_eq!(code(&[0, 0, 0, 0, 4]), Code::ResourceExhausted);
        assert_eq!(code(&[1, 0, 0, 0, 0]), Code::Unimplemented);
    }
}
