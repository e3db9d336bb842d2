//! One client of the server.

use super::tally::Tally;
use super::{Kind, Probe, mark};
use bertha::{Base, Buf, Connection, Error};
use std::time::Instant;

/// The most messages that are received at once.
const BURST: usize = 64;

/// Counts the client's data and answers its questions, until the connection ends; then the reason.
pub(super) async fn answer(connection: &impl Connection<Data = Buf>, tally: &mut Tally) -> Error {
    let mut burst = Vec::with_capacity(BURST);
    let mut answers = Vec::new();
    loop {
        match connection.recv_batch(&mut burst, BURST).await {
            Err(error) if goes_on(&error) => continue,
            Err(error) => return error,
            Ok(_) => {}
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
                    let report = tally.report(number).encoded();
                    // Asked for again, should there be no buffer for it now.
                    if let Ok(mut answer) = connection.base().buffer(report.len()) {
                        answer.copy_from_slice(&report);
                        answers.push(answer);
                    }
                }
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

/// Whether the connection lives on after this error.
pub(crate) fn goes_on(error: &Error) -> bool {
    error.kind().is_of_one_message() || error.kind().may_pass()
}
