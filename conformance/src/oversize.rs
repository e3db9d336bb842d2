//! Messages that are too large.

use super::Messages;
use super::delivery::{receive, still_works};
use super::timeout::{soon, succeeds};
use bertha_core::{Connection, ErrorKind};

/// `send`: "the error concerns this message alone, or a state that may pass, and the connection goes on."
pub async fn an_oversize_message_fails_alone<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let Some(message) = messages.oversize(a) else { return };
    let error = soon(a, "send of an oversize message", a.send(message)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(!error.ends_connection(), "`{error}` concerns one message and ends the connection");
    still_works(a, b, messages).await;
}

/// `send_batch`: "After an error, the messages still in the iterator were not sent; pass `&mut iterator` to
/// keep them."
pub async fn an_error_in_a_burst_keeps_the_rest<A, B, M>(a: &A, b: &B, messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    let Some(oversize) = messages.oversize(a) else { return };
    let [zero, one, two, three] = [0, 1, 2, 3].map(|number| messages.make(a, number));
    let mut burst = [zero, oversize, one, two, three].into_iter();
    let error = soon(a, "send_batch with an oversize message", a.send_batch(&mut burst)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(!error.ends_connection(), "`{error}` concerns one message and ends the connection");
    succeeds(a, "send_batch of the rest", a.send_batch(burst)).await;
    let mut numbers = Vec::new();
    while numbers.last() != Some(&3) {
        numbers.push(receive(b, messages).await);
    }
    // Messages that were taken out of the iterator before the error may have been sent or not.
    assert!(numbers.is_sorted() && numbers.windows(2).all(|two| two[0] != two[1]), "{numbers:?} arrived");
    still_works(a, b, messages).await;
}
