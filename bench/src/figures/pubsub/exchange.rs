//! The messages of a measurement, for any sending and receiving side.

use crate::{Error, ErrorKind};
use futures_util::future::try_join;
use std::cell::RefCell;
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

/// Number of bytes in a message, unless a measurement sets another.
pub(super) const MESSAGE: usize = 100;

/// An end that publishes.
pub(super) trait Sends {
    /// Publishes a message. Ready when the service has stored it.
    async fn send(&self, message: Vec<u8>) -> Result<(), Error>;

    /// Sends the gathered messages.
    async fn flush(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// An end that receives.
pub(super) trait Receives {
    /// Waits for messages; a single message, unless the end asks for bursts.
    async fn receive(&mut self) -> Result<Vec<u32>, Error>;

    /// Tells the service that the application has finished with the received messages.
    async fn acknowledge(&mut self) -> Result<(), Error>;

    /// Waits until no acknowledgement is under way.
    async fn settle(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// An end that publishes in bursts.
pub(super) trait SendsBursts {
    /// Publishes a burst. Ready when the service has stored all of it.
    async fn send_all(&self, messages: Vec<Vec<u8>>) -> Result<(), Error>;
}

/// An end that receives in bursts.
pub(super) trait ReceivesBursts {
    /// Waits for messages, at most `limit`, and acknowledges them. Returns their number.
    async fn take(&mut self, limit: usize) -> Result<usize, Error>;
}

/// The plan of a measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) messages: u32,
    /// Time from a message to the next.
    pub(super) pause: Duration,
    /// Number of groups to which messages belong in turn, each of which may have to stay in order.
    pub(super) groups: u32,
    /// True if messages are passed to `send` at their time, although earlier messages are still on their way.
    pub(super) overlaps: bool,
}

/// Returns a message: its group, its number, and padding. The message is text, so that services which carry
/// text accept it as it is.
pub(super) fn message(group: u32, number: u32, length: usize) -> Vec<u8> {
    let mut message = format!("{group:02}{number:08}").into_bytes();
    message.resize(length.max(message.len()), b'.');
    message
}

/// Returns the group of a message.
pub(super) fn group(message: &[u8]) -> &[u8] {
    &message[..message.len().min(2)]
}

/// Returns the number of a message.
///
/// # Errors
/// [`ErrorKind::Codec`] if it is no message of a measurement.
pub(super) fn number(message: &[u8]) -> Result<u32, Error> {
    let digits = message.get(2..10).and_then(|digits| std::str::from_utf8(digits).ok());
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| Error::new(ErrorKind::Codec, "a message of another program is in the topic"))
}

/// Sends and receives the messages of a plan, and returns the time of each from sending to receiving, in
/// microseconds. A message that arrives again counts once.
///
/// # Errors
/// Errors of either end.
pub(super) async fn latencies(
    sender: &impl Sends,
    receiver: &mut impl Receives,
    plan: Plan,
) -> Result<Vec<f64>, Error> {
    let sent = RefCell::new(vec![None; plan.messages as usize]);
    let start = Instant::now();
    let send_one = async |number: u32| {
        sleep_until((start + plan.pause * number).into()).await;
        sent.borrow_mut()[number as usize] = Some(Instant::now());
        sender.send(message(number % plan.groups, number, MESSAGE)).await
    };
    let sending = async {
        if plan.overlaps {
            futures_util::future::try_join_all((0..plan.messages).map(send_one)).await?;
        } else {
            for number in 0..plan.messages {
                send_one(number).await?;
            }
        }
        sender.flush().await
    };
    let receiving = async {
        let mut latencies = vec![None; plan.messages as usize];
        let mut missing = plan.messages;
        while missing > 0 {
            let numbers = receiver.receive().await?;
            let now = Instant::now();
            for number in numbers {
                let sent = sent.borrow().get(number as usize).copied().flatten();
                let (Some(latency), Some(sent)) = (latencies.get_mut(number as usize), sent) else {
                    continue;
                };
                if latency.is_none() {
                    *latency = Some((now - sent).as_secs_f64() * 1e6);
                    missing -= 1;
                }
            }
            receiver.acknowledge().await?;
        }
        receiver.settle().await?;
        Ok(latencies)
    };
    let ((), latencies) = crate::harness::in_time(try_join(sending, receiving)).await?;
    Ok(latencies.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_its_group_and_number() {
        let message = message(3, 1234, MESSAGE);
        assert_eq!((message.len(), group(&message), number(&message).unwrap()), (100, &b"03"[..], 1234));
        assert!(number(b"hello").is_err());
    }
}
