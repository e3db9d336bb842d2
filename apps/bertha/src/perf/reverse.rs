//! A receiving connection of a client, whose server sends.

use super::stream::{ATTEMPTS, Outcome, TIME_LIMIT};
use crate::probe::{Order, Probe, Tally, Transferred, goes_on};
use bertha::{Base, Buf, Connection, Error, ErrorKind};
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

/// Largest number of messages that are received at once.
const BURST: usize = 64;

/// Makes the server send for `time`, and waits for its report.
///
/// The client repeats its request while nothing comes: first the request for the data, and then the request
/// for the report.
///
/// # Errors
/// Errors that end the connection; [`TimedOut`](ErrorKind::TimedOut) if the server does not send, or does not
/// report.
pub(super) async fn run(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    time: Duration,
    received: &Transferred,
) -> Result<Outcome, Error> {
    let mut tally = Tally::default();
    let mut burst = Vec::with_capacity(BURST);
    let mut unanswered = 0;
    let mut ask_at = Instant::now();
    while unanswered <= ATTEMPTS {
        let is_due = tokio::select! {
            outcome = connection.recv_batch(&mut burst, BURST) => match outcome {
                Err(error) if !goes_on(&error) => return Err(error),
                _ => false,
            },
            () = sleep_until(ask_at.into()) => true,
        };
        let now = Instant::now();
        for message in burst.drain(..) {
            match Probe::read(&message) {
                Some(Probe::Data(number)) => {
                    tally.on_data(number, message.len(), now);
                    received.add(1, message.len() as u64);
                    (unanswered, ask_at) = (0, now + TIME_LIMIT);
                }
                Some(Probe::Sent(sent)) => {
                    return Ok(Outcome {
                        sent_messages: sent.messages,
                        sent_bytes: sent.bytes,
                        sending: Duration::from_micros(sent.microseconds),
                        received: Some(tally.report(0)),
                    });
                }
                _ => {}
            }
        }
        if is_due && Instant::now() >= ask_at {
            let order = Order::new(unanswered, time, length).encoded();
            let mut question = connection.base().buffer(order.len())?;
            question.copy_from_slice(&order);
            match connection.send(question).await {
                Err(error) if !goes_on(&error) => return Err(error),
                _ => {}
            }
            (unanswered, ask_at) = (unanswered + 1, now + TIME_LIMIT);
        }
    }
    let what = match tally.messages {
        0 => "the server sends nothing; is it one that knows --reverse?",
        _ => "the server did not say how much it has sent",
    };
    Err(Error::new(ErrorKind::TimedOut, what))
}
