//! A sending connection of a client.

use crate::probe::{Kind, Probe, Report, Transferred, goes_on, longest, mark, send_for};
use bertha::{Base, Buf, Connection, Error, ErrorKind};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Number of requests to the server for its report, and time that an answer may take.
pub(super) const ATTEMPTS: u64 = 20;
pub(super) const TIME_LIMIT: Duration = Duration::from_millis(250);

/// Length of the longest message unless another length is asked for.
const LONGEST: usize = 128 << 10;

/// The outcome on a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) sent_messages: u64,
    pub(super) sent_bytes: u64,
    pub(super) sending: Duration,
    /// The receiver's report; `None` if it is the server's, and the server did not answer.
    pub(super) received: Option<Report>,
}

/// Returns the length of messages on this connection.
///
/// # Errors
/// [`TooLarge`](ErrorKind::TooLarge) if the connection carries no message of the requested length.
pub(super) fn message_length(
    connection: &impl Connection<Data = Buf>,
    asked: Option<usize>,
) -> Result<usize, Error> {
    let longest = longest(connection);
    match asked {
        Some(asked) if asked > longest => {
            let what =
                format!("messages of {asked} bytes were asked for, and the connection carries {longest}");
            Err(Error::new(ErrorKind::TooLarge, what))
        }
        Some(asked) => Ok(asked),
        None => Ok(longest.min(LONGEST)),
    }
}

/// Sends for `time`, and then asks the server for its report.
///
/// # Errors
/// Errors that end the connection.
pub(super) async fn run(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    time: Duration,
    sent: &Transferred,
) -> Result<Outcome, Error> {
    let (tell, mut told) = watch::channel(None);
    // The sender receives too, since layers below see the peer's messages only in this way.
    let receiving = async {
        loop {
            match connection.recv().await {
                Ok(message) => {
                    if let Some(Probe::Report(report)) = Probe::read(&message) {
                        tell.send_replace(Some(report));
                    }
                }
                Err(error) if goes_on(&error) => {}
                Err(error) => return error,
            }
        }
    };
    let sending = async {
        let Report { messages, bytes, microseconds, .. } = send_for(connection, length, time, sent).await?;
        let received = ask(connection, &mut told).await?;
        let sending = Duration::from_micros(microseconds);
        Ok(Outcome { sent_messages: messages, sent_bytes: bytes, sending, received })
    };
    let mut receiving = pin!(receiving);
    let mut sending = pin!(sending);
    tokio::select! {
        biased;
        outcome = &mut sending => outcome,
        error = &mut receiving => Err(error),
    }
}

/// Asks until an answer comes.
async fn ask(
    connection: &impl Connection<Data = Buf>,
    told: &mut watch::Receiver<Option<Report>>,
) -> Result<Option<Report>, Error> {
    for attempt in 0..ATTEMPTS {
        let mut question = connection.base().buffer(crate::probe::SHORTEST)?;
        mark(&mut question, Kind::Ask, attempt);
        match connection.send(question).await {
            Err(error) if !goes_on(&error) => return Err(error),
            _ => {}
        }
        if timeout(TIME_LIMIT, told.changed()).await.is_ok() {
            break;
        }
    }
    Ok(*told.borrow())
}
