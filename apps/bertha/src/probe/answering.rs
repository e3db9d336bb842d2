//! The answers to a client of the server.

use super::tally::Tally;
use super::{Kind, Order, Probe, Report, Transferred, goes_on, mark, send_for};
use bertha::core::BoxFuture;
use bertha::{Base, Buf, Connection, Error};
use std::future::pending;
use std::time::Instant;

/// Largest number of messages that are received at once.
const BURST: usize = 64;

/// The state of the data that a client has ordered, which it does once.
enum Sending<'a> {
    Nothing,
    UnderWay(BoxFuture<'a, Result<Report, Error>>),
    Done(Report),
}

impl Sending<'_> {
    /// Waits until everything is sent.
    async fn done(&mut self) -> Result<Report, Error> {
        match self {
            Self::UnderWay(sending) => sending.await,
            _ => pending().await,
        }
    }
}

/// Counts the client's data, sends what it orders, and answers its questions, until the connection ends.
/// Returns the reason of the end.
pub(super) async fn answer(connection: &impl Connection<Data = Buf>, tally: &mut Tally) -> Error {
    let sent = Transferred::default();
    let mut sending = Sending::Nothing;
    let mut burst = Vec::with_capacity(BURST);
    let mut answers = Vec::new();
    loop {
        tokio::select! {
            received = connection.recv_batch(&mut burst, BURST) => match received {
                Err(error) if !goes_on(&error) => return error,
                _ => {}
            },
            done = sending.done() => match done {
                Ok(report) => {
                    tally.sent = report;
                    answers.extend(buffered(connection, &report.encoded(Kind::Sent)));
                    sending = Sending::Done(report);
                }
                Err(error) => return error,
            },
        }
        let now = Instant::now();
        for mut message in burst.drain(..) {
            match Probe::read(&message) {
                Some(Probe::Data(number)) => tally.on_data(number, message.len(), now),
                Some(Probe::Ping(number)) => {
                    tally.pings += 1;
                    mark(&mut message, Kind::Pong, number);
                    answers.push(message);
                }
                Some(Probe::Ask(number)) => {
                    let report = tally.report(number).encoded(Kind::Report);
                    answers.extend(buffered(connection, &report));
                }
                Some(Probe::Order(Order { time, length, .. })) => match &sending {
                    Sending::Nothing => {
                        sending = Sending::UnderWay(Box::pin(send_for(connection, length, time, &sent)));
                    }
                    Sending::UnderWay(_) => {}
                    Sending::Done(report) => {
                        answers.extend(buffered(connection, &report.encoded(Kind::Sent)));
                    }
                },
                _ => tally.foreign += 1,
            }
        }
        if !answers.is_empty()
            && let Err(error) = connection.send_batch(answers.drain(..)).await
            && !goes_on(&error)
        {
            return error;
        }
    }
}

/// Returns an answer in a buffer. If there is no buffer now, the client asks again.
fn buffered(connection: &impl Connection<Data = Buf>, answer: &[u8]) -> Option<Buf> {
    let mut buffer = connection.base().buffer(answer.len()).ok()?;
    buffer.copy_from_slice(answer);
    Some(buffer)
}
