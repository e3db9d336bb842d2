//! Errors that end a connection, and errors that it survives.

use super::Messages;
use super::timeout::{TIMEOUT, soon, within};
use bertha_core::{Connection, Error};

/// The number of times that each call is made after the end.
const CALLS: u64 = 3;

/// [`Error::ends_connection`]: "the connection has ended with this error, so that every later call of it
/// fails at once with an error that says the same". The check is for a connection that its peer, its path or
/// a layer ends; messages that had arrived before come first. Returns the error with which `recv` ended.
pub async fn an_end_is_final<C, M>(connection: &C, messages: &M) -> Error
where
    C: Connection,
    M: Messages<C::Data>,
{
    // A datagram that tells of the end may be lost, and then the idle time-out ends the connection, of 30 seconds.
    let end = within(connection, 3 * TIMEOUT, async {
        loop {
            match connection.recv().await {
                Err(error) if error.ends_connection() => break error,
                _ => {}
            }
        }
    });
    let end = end.await.unwrap_or_else(|| panic!("the connection does not end within {:?}", 3 * TIMEOUT));
    for number in 0..CALLS {
        let recv = soon(connection, "recv after the end", connection.recv()).await.map(drop);
        ends("recv", recv, &end);
        let mut none = Vec::new();
        let recv_batch = soon(connection, "recv_batch after the end", connection.recv_batch(&mut none, 10));
        ends("recv_batch", recv_batch.await.map(drop), &end);
        let message = messages.make(connection, number);
        ends("send", soon(connection, "send after the end", connection.send(message)).await, &end);
        let burst = [messages.make(connection, number)].into_iter();
        let send_batch = soon(connection, "send_batch after the end", connection.send_batch(burst));
        ends("send_batch", send_batch.await, &end);
    }
    end
}

fn ends(call: &str, outcome: Result<(), Error>, end: &Error) {
    match outcome {
        Ok(()) => panic!("{call} succeeded after the connection had ended with `{end}`"),
        Err(error) => {
            assert!(error.ends_connection(), "{call} says `{error}` and goes on after the end `{end}`");
            assert_eq!(error.kind(), end.kind(), "{call} says `{error}` after the end `{end}`");
        }
    }
}
