//! Arbitrary messages of a peer, read by the Chunnels that parse them.

use super::feed::Feed;
use bertha_chunnels::{AtMostOnce, Batch, Compress, Fragment, Ordered, OrderedByKey};
use bertha_core::{Buf, Connection, ErrorKind, Supports, Wrap};
use futures_util::FutureExt;

/// Size in bytes of the largest message that `Fragment` assembles here.
const LIMIT: u32 = 20_000;

/// Passes the messages in these bytes, each behind its length of one byte, to each Chunnel that has a format
/// of its own. The Chunnel returns no more bytes than it received, or than it may make of the received bytes.
/// It ends as the connection below ends, or with a refusal.
pub fn messages(bytes: &[u8]) {
    let feed = || Feed::new(split(bytes));
    let count = split(bytes).len();
    let longest = split(bytes).iter().map(|message| message.len()).max().unwrap_or(0);

    let fragments = receive(&Fragment::new().limit(LIMIT), feed());
    assert!(fragments.len() <= count && fragments.iter().all(|it| it.len() <= longest.max(LIMIT as usize)));
    for one_for_one in [
        receive(&AtMostOnce, feed()),
        receive(&Ordered::new().capacity(8), feed()),
        receive(&Ordered::new().skip_after(3), feed()),
        receive(&OrderedByKey::new(|_| &[]).groups(4), feed()),
    ] {
        assert!(one_for_one.len() <= count && one_for_one.iter().all(|it| it.len() <= longest));
    }
    let compressed = receive(&Compress::new().limit(LIMIT), feed());
    assert!(compressed.len() <= count && compressed.iter().all(|it| it.len() <= longest.max(LIMIT as usize)));
    let batched: usize = receive(&Batch::new(), feed()).iter().map(|it| it.len()).sum();
    assert!(batched <= bytes.len());
}

/// Returns the messages in these bytes, each behind its length of one byte.
pub(super) fn split(mut bytes: &[u8]) -> Vec<Buf> {
    let mut messages = Vec::new();
    while let Some((&len, rest)) = bytes.split_first() {
        let (message, rest) = rest.split_at(rest.len().min(len.into()));
        messages.extend(Buf::copy_of(message, 0));
        bytes = rest;
    }
    messages
}

/// Returns all messages of a connection until it ends.
fn receive<S>(chunnel: &S, feed: Feed) -> Vec<Buf>
where
    S: Wrap,
    Feed: Supports<S, Out: Connection<Data = Buf>>,
{
    // No future here waits.
    let connection = chunnel.wrap(feed).now_or_never().unwrap().unwrap();
    let mut messages = Vec::new();
    loop {
        match connection.recv().now_or_never().unwrap() {
            Ok(message) => messages.push(message),
            Err(error) => {
                let is_refusal = matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Invalid);
                assert!(is_refusal || error.kind() == ErrorKind::Closed, "{error}");
                return messages;
            }
        }
    }
}
