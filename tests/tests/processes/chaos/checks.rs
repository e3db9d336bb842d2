//! Checks of all histories together.

use super::history::{History, InForce, Line};
use std::collections::HashMap;

/// Numbers of the events of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Number of streams that were begun. `complete` is the number of streams whose numbers all arrived.
    pub(crate) begun: usize,
    pub(crate) complete: usize,
    /// Number of received numbers.
    pub(crate) received: usize,
    /// Number of changes of stacks of these streams.
    pub(crate) changes: usize,
    /// Number of rounds to which participants switched.
    pub(crate) commits: usize,
    /// Number of messages published in topics. `delivered` is the number of their receptions, and
    /// `passed_over` the number of lost messages between received messages.
    pub(crate) published: usize,
    pub(crate) delivered: usize,
    pub(crate) passed_over: usize,
    /// Number of messages that participants of topics missed because of a failure.
    pub(crate) put_down: usize,
    /// Number of changes of stacks of participants of topics.
    pub(crate) topic_changes: usize,
}

/// A stream, from both ends.
#[derive(Default)]
struct Stream {
    sent: u64,
    acknowledged: u64,
    complete: Option<u64>,
    received: Vec<u64>,
    /// Index of the receiver's history.
    receiver: Option<usize>,
}

/// Checks that one receiver gets the numbers of a stream in order and once, gets no number that was not sent,
/// and gets all numbers whose arrival was confirmed to the sender.
pub(crate) fn streams(histories: &[History], summary: &mut Summary) -> Result<(), String> {
    let mut streams: HashMap<u64, Stream> = HashMap::new();
    for (at, line) in
        histories.iter().enumerate().flat_map(|(at, lines)| lines.iter().map(move |line| (at, line)))
    {
        match *line {
            Line::Begun(_) => summary.begun += 1,
            Line::Changed(_) => summary.changes += 1,
            Line::Sent(id, number) => {
                let stream = streams.entry(id).or_default();
                if number != std::mem::replace(&mut stream.sent, number + 1) {
                    return Err(format!("stream {id:016x} was not sent in order, at {number}"));
                }
            }
            Line::Acknowledged(id, count) => streams.entry(id).or_default().acknowledged = count,
            Line::Complete(id, count) => {
                summary.complete += 1;
                streams.entry(id).or_default().complete = Some(count);
            }
            Line::Received(id, number) => {
                summary.received += 1;
                let stream = streams.entry(id).or_default();
                if *stream.receiver.get_or_insert(at) != at {
                    return Err(format!("two processes received stream {id:016x}"));
                }
                stream.received.push(number);
            }
            _ => {}
        }
    }
    streams
        .iter()
        .try_for_each(|(id, stream)| stream.check().map_err(|what| format!("stream {id:016x}: {what}")))
}

impl Stream {
    fn check(&self) -> Result<(), String> {
        let count = self.received.len() as u64;
        if let Some((expected, number)) =
            (0..).zip(&self.received).find(|(expected, number)| expected != *number)
        {
            return Err(format!(
                "received {number} in the place of {expected}: lost, repeated or out of order"
            ));
        }
        if count > self.sent {
            return Err(format!("received {count} numbers, of which only {} were sent", self.sent));
        }
        if self.acknowledged > count {
            return Err(format!(
                "the sender was told of {} numbers, of which {count} were received",
                self.acknowledged
            ));
        }
        match self.complete {
            Some(complete) if complete != count => Err(format!("received {count} of all {complete} numbers")),
            _ => Ok(()),
        }
    }
}

/// Checks that all participants of a round of a connection use one stack, that no participant goes back to an
/// earlier round, and that no participant switches to a stack that it has not staged.
pub(crate) fn rounds(histories: &[History], summary: &mut Summary) -> Result<(), String> {
    let mut stacks: HashMap<(u64, u64), &str> = HashMap::new();
    for history in histories {
        let (mut staged, mut last) = (Vec::new(), None::<&InForce>);
        for line in history {
            let now = match line {
                Line::Stage(round, stack) => {
                    staged.push((*round, stack.as_str()));
                    continue;
                }
                Line::Joined(now) => now,
                Line::Commit(now) => {
                    summary.commits += 1;
                    if !staged.contains(&(now.round, &now.stack)) {
                        return Err(format!("switched to {now:?} without having staged it"));
                    }
                    now
                }
                _ => continue,
            };
            let of_all = *stacks.entry((now.life, now.round)).or_insert(&now.stack);
            if of_all != now.stack {
                return Err(format!("{now:?}, and others use {of_all}"));
            }
            if let Some(last) = last.filter(|last| last.life == now.life && last.round > now.round) {
                return Err(format!("went back from {last:?} to {now:?}"));
            }
            last = Some(now);
        }
    }
    Ok(())
}

/// Returns the stack that a participant uses, if it knows of `participants` participants.
pub(crate) fn in_force_among(participants: usize, history: &History) -> Option<&InForce> {
    let known = history.iter().rev().find_map(|line| match line {
        Line::Participants(count) => Some(*count),
        _ => None,
    });
    known.filter(|known| *known == participants)?;
    history.iter().rev().find_map(|line| match line {
        Line::Joined(now) | Line::Commit(now) => Some(now),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_streams(histories: &[History]) -> Result<Summary, String> {
        let mut summary = Summary::default();
        streams(histories, &mut summary).map(|()| summary)
    }

    fn sent(count: u64) -> History {
        (0..count).map(|number| Line::Sent(7, number)).collect()
    }

    fn received(numbers: &[u64]) -> History {
        numbers.iter().map(|number| Line::Received(7, *number)).collect()
    }

    #[test]
    fn what_is_wrong_with_a_stream_is_found() {
        assert_eq!(check_streams(&[sent(3), received(&[0, 1])]).map(|it| it.received), Ok(2));
        for wrong in [&[0, 2][..], &[0, 0], &[1, 0], &[0, 1, 2, 3], &[1]] {
            check_streams(&[sent(3), received(wrong)]).unwrap_err();
        }
        check_streams(&[sent(3), received(&[0]), received(&[1])]).unwrap_err();
        for told in [Line::Acknowledged(7, 2), Line::Complete(7, 3)] {
            check_streams(&[sent(3), vec![told.clone()], received(&[0])]).unwrap_err();
            check_streams(&[sent(3), vec![told], received(&[0, 1, 2])]).unwrap();
        }
    }

    fn now(life: u64, round: u64, stack: &str) -> InForce {
        InForce { life, round, stack: stack.into() }
    }

    fn check_rounds(histories: &[History]) -> Result<(), String> {
        rounds(histories, &mut Summary::default())
    }

    #[test]
    fn what_is_wrong_with_a_round_is_found() {
        let switch =
            |round, stack: &str| vec![Line::Stage(round, stack.into()), Line::Commit(now(1, round, stack))];
        check_rounds(&[switch(2, "X"), switch(2, "X"), switch(3, "Y")]).unwrap();
        check_rounds(&[switch(2, "X"), switch(2, "Y")]).unwrap_err();
        check_rounds(&[[switch(3, "X"), switch(2, "X")].concat()]).unwrap_err();
        check_rounds(&[[switch(3, "X"), vec![Line::Joined(now(2, 1, "Y"))]].concat()]).unwrap();
        check_rounds(&[vec![Line::Stage(3, "Y".into()), Line::Commit(now(1, 3, "X"))]]).unwrap_err();
        check_rounds(&[vec![Line::Commit(now(1, 3, "X"))]]).unwrap_err();
    }
}
