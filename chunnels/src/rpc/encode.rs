//! Requests and responses, encoded straight into a buffer of the datapath.

use super::{Failure, FailureKind, Metadata};
use crate::serialize::{BufferSize, Codec};
use bertha_core::{Base, Buf, Connection};
use std::fmt;

/// A request or a response that can be written into a buffer.
pub trait Encode: Sync {
    /// Writes it at the start of `into`, and returns how many bytes it takes; `None` if `into` is too small.
    ///
    /// # Errors
    /// [`FailureKind::Malformed`] if there is no encoding of it, however large the buffer.
    fn encode(&self, into: &mut [u8]) -> Result<Option<usize>, Failure>;

    /// Returns the most bytes that the other end decodes.
    fn limit(&self) -> usize {
        usize::MAX
    }
}

/// Bytes as they are.
impl Encode for [u8] {
    fn encode(&self, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        Ok(into.get_mut(..self.len()).map(|place| {
            place.copy_from_slice(self);
            self.len()
        }))
    }
}

/// A value in the format of a codec.
#[derive(Debug)]
pub struct Encoded<'a, K, T: ?Sized> {
    codec: &'a K,
    value: &'a T,
}

impl<'a, K, T> Encoded<'a, K, T> {
    /// This value in this format.
    pub fn new(codec: &'a K, value: &'a T) -> Self {
        Self { codec, value }
    }
}

impl<K: Codec<T>, T: Sync> Encode for Encoded<'_, K, T> {
    #[inline]
    fn encode(&self, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(self.codec, self.value, into)
    }

    fn limit(&self) -> usize {
        self.codec.limit()
    }
}

/// Writes `value` at the start of `into`, for services; see [`Encode::encode`].
///
/// # Errors
/// [`FailureKind::Malformed`] if the codec has no encoding of it.
#[inline]
pub fn encode<T, K: Codec<T>>(codec: &K, value: &T, into: &mut [u8]) -> Result<Option<usize>, Failure> {
    codec.encode(value, into).map_err(|error| unencodable(&error))
}

/// Returns the value that `bytes` are, all of them.
///
/// # Errors
/// [`FailureKind::Malformed`] if they are none.
#[inline]
pub fn decode<T, K: Codec<T>>(codec: &K, bytes: &[u8]) -> Result<T, Failure> {
    match codec.decode(bytes) {
        Ok((value, used)) if used == bytes.len() => Ok(value),
        Ok((_, used)) => Err(undecodable(&format_args!("{} bytes are left over", bytes.len() - used))),
        Err(error) => Err(undecodable(&error)),
    }
}

#[cold]
fn unencodable(reason: &dyn fmt::Display) -> Failure {
    Failure::of(FailureKind::Malformed, format!("there is no encoding: {reason}"))
}

#[cold]
fn undecodable(reason: &dyn fmt::Display) -> Failure {
    Failure::of(FailureKind::Malformed, format!("the other end has another type: {reason}"))
}

/// Encodes into buffers of a connection, of a size that follows the messages.
#[derive(Debug)]
pub(super) struct Encoder {
    size: BufferSize,
}

impl Encoder {
    pub(super) fn new(connection: &impl Connection) -> Self {
        Self { size: BufferSize::new(max_len(connection)) }
    }

    /// Encodes a body behind its metadata, if there is any.
    ///
    /// # Errors
    /// [`FailureKind::TooLarge`], [`FailureKind::Malformed`], and [`FailureKind::Overloaded`] if there is no buffer.
    #[inline]
    pub(super) fn encode_behind<C: Connection>(
        &self,
        metadata: &Metadata,
        connection: &C,
        limit: usize,
        mut write: impl FnMut(&mut [u8]) -> Result<Option<usize>, Failure>,
    ) -> Result<Buf, Failure> {
        if metadata.is_empty() {
            return self.encode(connection, limit, write);
        }
        let limit = limit.saturating_add(metadata.length());
        self.encode(connection, limit, |into| metadata.write_before(into, &mut write))
    }

    #[inline]
    fn encode<C: Connection>(
        &self,
        connection: &C,
        limit: usize,
        mut write: impl FnMut(&mut [u8]) -> Result<Option<usize>, Failure>,
    ) -> Result<Buf, Failure> {
        let mut size = self.size.guess();
        let mut bytes = buffer(connection, size)?;
        if let Some(written) = write(&mut bytes)? {
            bytes.truncate(written);
            self.size.on_fit(written, size);
            return Ok(bytes);
        }
        drop(bytes);
        let max = max_len(connection).min(limit);
        while let Some(larger) = BufferSize::beyond(size, max) {
            size = larger;
            let mut bytes = buffer(connection, size)?;
            if let Some(written) = write(&mut bytes)? {
                bytes.truncate(written);
                self.size.on_retry(written, max);
                return Ok(bytes);
            }
        }
        Err(too_large(max))
    }
}

fn buffer(connection: &impl Connection, size: usize) -> Result<Buf, Failure> {
    connection.base().buffer(size).map_err(|error| Failure::of_connection(&error, false))
}

/// Returns the longest encoding that the layers below carry.
pub(super) fn max_len(connection: &impl Connection) -> usize {
    connection.mtu().saturating_sub(connection.base().reserved())
}

#[cold]
fn too_large(max: usize) -> Failure {
    let what = format!(
        "it takes more than the {max} bytes of a message; put Fragment below Rpc, or make a stream of it"
    );
    Failure::of(FailureKind::TooLarge, what)
}
