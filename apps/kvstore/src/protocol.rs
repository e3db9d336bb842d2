//! The messages between client and store.

use std::fmt;
use std::sync::Arc;

use bertha::chunnels::shard::KeyAt;
use bertha::chunnels::{Postcard, Serialize as Serialization};
use serde::{Deserialize, Serialize};

use crate::{Key, MAX_KEY, MAX_SCAN, MAX_VALUE, Page};

/// The serialisation of messages, in the format of Postcard: a key's bytes begin behind the single byte of
/// their length, where a router finds them without decoding the message. Messages with longer keys than
/// [`MAX_KEY`] are not sent.
pub type Messages = Serialization<Message, KeyAt<1, Postcard>>;

/// [`MAX_SCAN`] as the number in a message.
const LONGEST_SCAN: u32 = MAX_SCAN as u32;

/// A request or a reply.
///
/// Delivery is the network's: a message may be lost, doubled or overtaken. All requests are idempotent, so a
/// client repeats a request without a reply, with its `id`, and ignores a second reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Key of the record, or of the start of a scan, at most [`MAX_KEY`] bytes. The key comes first in the
    /// serialised form, where a router finds it without decoding the rest.
    pub key: Key,
    /// Number of the request, chosen by the client and repeated in the reply.
    pub id: u64,
    /// The request or the reply.
    pub body: Body,
}

/// The two halves of the protocol: [`Get`](Self::Get), [`Put`](Self::Put), [`Update`](Self::Update),
/// [`Delete`](Self::Delete) and [`Scan`](Self::Scan) are requests, the others replies.
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
    /// Asks for records from the key on, in the order of the bytes of their keys, and of all shards:
    /// [`Body::Records`]. Any shard answers for the whole store, so that clients need not know the shards.
    ///
    /// A page can be shorter than `count` although more records follow: a client goes on at
    /// [`Page::next`](crate::Page::next) until it has enough. A record that is in the store during the whole
    /// scan is in its pages; a record that comes or goes meanwhile may be.
    ///
    /// The reply is [`Reason::ValueTooLong`] if the record of the key itself has a value that fits no
    /// message. A page ends before such a record.
    Scan {
        /// Number of records, from 1 to [`MAX_SCAN`].
        count: u32,
        /// Maximum number of bytes of the reply. A reply with a single record may be longer, and no reply is
        /// longer than a datagram of UDP.
        room: u32,
    },
    /// The records of a scan.
    Records(Box<Page>),
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
    /// The scan asks for no record, or for more than [`MAX_SCAN`].
    ScanOutOfRange,
    /// The shard runs in a process of its own, and can't ask the other shards for their part of a scan.
    PartOfStore,
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

    /// Asks for `count` records from `key` on, with as many in each reply as a datagram of UDP holds.
    pub fn scan(id: u64, key: impl Into<Key>, count: u32) -> Self {
        Self { key: key.into(), id, body: Body::Scan { count, room: u32::MAX } }
    }

    /// Turns a request into its reply, keeping `key` and `id`.
    pub fn reply(self, body: Body) -> Self {
        Self { body, ..self }
    }

    /// Returns true if the message is a request.
    pub fn is_request(&self) -> bool {
        matches!(self.body, Body::Get | Body::Put(_) | Body::Update { .. } | Body::Delete | Body::Scan { .. })
    }

    /// Checks the message against [`MAX_KEY`], [`MAX_VALUE`] and [`MAX_SCAN`].
    ///
    /// # Errors
    /// [`Reason::KeyTooLong`], [`Reason::ValueTooLong`] or [`Reason::ScanOutOfRange`]. A store refuses such a
    /// request, so a client should check before it sends.
    pub fn check(&self) -> Result<(), Reason> {
        if self.key.len() > MAX_KEY {
            return Err(Reason::KeyTooLong);
        }
        let length = match &self.body {
            Body::Put(bytes) | Body::Update { bytes, .. } | Body::Found(bytes) => bytes.len(),
            Body::Scan { count: 1..=LONGEST_SCAN, .. } => 0,
            Body::Scan { .. } => return Err(Reason::ScanOutOfRange),
            Body::Get | Body::Delete | Body::Missing | Body::Stored | Body::Failed(_) | Body::Records(_) => 0,
        };
        if length > MAX_VALUE { Err(Reason::ValueTooLong) } else { Ok(()) }
    }
}

impl Body {
    /// Returns the reply to a scan from `from` on.
    pub(crate) fn page(page: Page, from: &Key) -> Self {
        // A page without any progress ends before a value that fits no message.
        if page.records.is_empty() && page.next.as_ref() == Some(from) {
            return Self::Failed(Reason::ValueTooLong);
        }
        Self::Records(Box::new(page))
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
            Self::ScanOutOfRange => write!(f, "a scan asks for 1 to {MAX_SCAN} records"),
            Self::PartOfStore => {
                f.write_str("the shard runs in a process of its own, and has only a part of the records")
            }
        }
    }
}

impl std::error::Error for Reason {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Record;

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
            (any::<u32>(), any::<u32>()).prop_map(|(count, room)| Body::Scan { count, room }),
            page().prop_map(|page| Body::Records(Box::new(page))),
        ]
    }

    fn page() -> impl Strategy<Value = Page> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
        let record = (bytes(), bytes())
            .prop_map(|(key, value)| Record { key: key.as_slice().into(), value: value.into() });
        (proptest::collection::vec(record, 0..20), proptest::option::of(bytes()))
            .prop_map(|(records, next)| Page { records, next: next.map(|key| key.as_slice().into()) })
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
        for (count, checked) in [(0, Err(Reason::ScanOutOfRange)), (1, Ok(())), (LONGEST_SCAN, Ok(()))] {
            assert_eq!(Message::scan(1, "k", count).check(), checked);
        }
        for hostile in [LONGEST_SCAN + 1, u32::MAX] {
            assert_eq!(Message::scan(1, "k", hostile).check(), Err(Reason::ScanOutOfRange));
        }
    }
}
