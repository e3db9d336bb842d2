//! The messages between client and store.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Key;

/// Length of the longest key in bytes.
///
/// Below 128 the length of the key takes exactly one byte in bincode's and in postcard's variable-length
/// integers, so the key itself always begins at the same offset of a serialised message.
pub const MAX_KEY: usize = 127;

/// Length of the longest value in bytes: the room in a UDP datagram next to the longest key and the headers.
pub const MAX_VALUE: usize = 60 * 1024;

/// A request or a reply.
///
/// Delivery is the network's: a message may be lost, doubled or overtaken. All requests are idempotent, so a
/// client repeats a request without a reply, with its `id`, and ignores a second reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Key of the record, at most [`MAX_KEY`] bytes. The key comes first in the serialised form, where a
    /// router finds it without decoding the rest.
    #[serde(with = "crate::contiguous")]
    pub key: Key,
    /// Number of the request, chosen by the client and repeated in the reply.
    pub id: u64,
    /// The request or the reply.
    pub body: Body,
}

/// The two halves of the protocol: the first four are requests, the others replies.
///
/// Bytes are shared: a clone copies none, and the reply to a get refers to the bytes in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// Asks for the value: [`Body::Found`] or [`Body::Missing`].
    Get,
    /// Creates the record or replaces its value: [`Body::Stored`].
    Put(#[serde(with = "crate::contiguous")] Arc<[u8]>),
    /// Overwrites a part of an existing value: [`Body::Stored`] or [`Body::Missing`]. The value never becomes
    /// longer.
    Update {
        /// Offset of the part, in bytes from the start of the value.
        offset: u32,
        /// New content of the part.
        #[serde(with = "crate::contiguous")]
        bytes: Arc<[u8]>,
    },
    /// Removes the record: [`Body::Stored`] or [`Body::Missing`].
    Delete,
    /// The requested value.
    Found(#[serde(with = "crate::contiguous")] Arc<[u8]>),
    /// There is no record with this key.
    Missing,
    /// The change has been made.
    Stored,
    /// The request was refused, and nothing has changed.
    Failed(Reason),
}

/// The reason why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The key is longer than [`MAX_KEY`].
    KeyTooLong,
    /// The value is longer than [`MAX_VALUE`].
    ValueTooLong,
    /// The part to update does not lie within the value.
    OutOfRange,
    /// The shard holds the largest permitted number of records.
    TooManyRecords,
    /// The shard holds the largest permitted number of bytes.
    TooManyBytes,
    /// Only a store sends such a body.
    NotARequest,
}

impl Message {
    /// Asks for the value of `key`.
    pub fn get(id: u64, key: impl Into<Key>) -> Self {
        Self { key: key.into(), id, body: Body::Get }
    }

    /// Creates or replaces the value of `key`.
    pub fn put(id: u64, key: impl Into<Key>, value: impl Into<Arc<[u8]>>) -> Self {
        Self { key: key.into(), id, body: Body::Put(value.into()) }
    }

    /// Overwrites the value of `key` from `offset` on.
    pub fn update(id: u64, key: impl Into<Key>, offset: u32, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { key: key.into(), id, body: Body::Update { offset, bytes: bytes.into() } }
    }

    /// Removes `key`.
    pub fn delete(id: u64, key: impl Into<Key>) -> Self {
        Self { key: key.into(), id, body: Body::Delete }
    }

    /// Turns a request into its reply, keeping `key` and `id`.
    pub fn reply(self, body: Body) -> Self {
        Self { body, ..self }
    }

    /// Returns true if the message is a request.
    pub fn is_request(&self) -> bool {
        matches!(self.body, Body::Get | Body::Put(_) | Body::Update { .. } | Body::Delete)
    }

    /// Checks the message against [`MAX_KEY`] and [`MAX_VALUE`].
    ///
    /// # Errors
    /// [`Reason::KeyTooLong`] or [`Reason::ValueTooLong`]. A store refuses such a request, so a client should
    /// check before it sends.
    pub fn check(&self) -> Result<(), Reason> {
        if self.key.len() > MAX_KEY {
            return Err(Reason::KeyTooLong);
        }
        let length = match &self.body {
            Body::Put(bytes) | Body::Update { bytes, .. } | Body::Found(bytes) => bytes.len(),
            Body::Get | Body::Delete | Body::Missing | Body::Stored | Body::Failed(_) => 0,
        };
        if length > MAX_VALUE { Err(Reason::ValueTooLong) } else { Ok(()) }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong => write!(f, "the key is longer than {MAX_KEY} bytes"),
            Self::ValueTooLong => write!(f, "the value is longer than {MAX_VALUE} bytes"),
            Self::OutOfRange => f.write_str("the part to update does not lie within the value"),
            Self::TooManyRecords => f.write_str("the shard holds as many records as it may"),
            Self::TooManyBytes => f.write_str("the shard holds as many bytes as it may"),
            Self::NotARequest => f.write_str("a store answers requests, and this is a reply"),
        }
    }
}

impl std::error::Error for Reason {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn body() -> impl Strategy<Value = Body> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..300).prop_map(Arc::from);
        prop_oneof![
            Just(Body::Get),
            bytes().prop_map(Body::Put),
            (any::<u32>(), bytes()).prop_map(|(offset, bytes)| Body::Update { offset, bytes }),
            Just(Body::Delete),
            bytes().prop_map(Body::Found),
            Just(Body::Missing),
            Just(Body::Stored),
            Just(Body::Failed(Reason::OutOfRange)),
        ]
    }

    proptest! {
        #[test]
        fn survives_both_codecs_with_the_key_at_offset_one(
            key in proptest::collection::vec(any::<u8>(), 0..=MAX_KEY), id: u64, body in body()
        ) {
            let message = Message { key: key.as_slice().into(), id, body };
            let postcard = postcard::to_allocvec(&message).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<Message>(&postcard).unwrap(), &message);
            prop_assert_eq!((postcard[0], &postcard[1..=key.len()]), (key.len() as u8, &key[..]));

            let config = bincode::config::standard();
            let bincode = bincode::serde::encode_to_vec(&message, config).unwrap();
            let (decoded, read) = bincode::serde::decode_from_slice::<Message, _>(&bincode, config).unwrap();
            prop_assert_eq!((&decoded, read), (&message, bincode.len()));
            prop_assert_eq!((bincode[0], &bincode[1..=key.len()]), (key.len() as u8, &key[..]));
        }
    }

    #[test]
    fn checks_the_sizes_up_to_their_limits() {
        assert_eq!(Message::put(1, "k".repeat(MAX_KEY), vec![0; MAX_VALUE]).check(), Ok(()));
        assert_eq!(Message::get(1, "k".repeat(MAX_KEY + 1)).check(), Err(Reason::KeyTooLong));
        assert_eq!(Message::put(1, "k", vec![0; MAX_VALUE + 1]).check(), Err(Reason::ValueTooLong));
        assert_eq!(Message::update(1, "k", 0, vec![0; MAX_VALUE + 1]).check(), Err(Reason::ValueTooLong));
    }
}
