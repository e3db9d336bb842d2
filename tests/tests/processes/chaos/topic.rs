//! The histories of a topic's participants, and checks of them.

use super::checks::Summary;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An event of a participant.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Line {
    /// Time of the event, on the clock of all hosts.
    pub(crate) at: u64,
    /// The participant. Each start is another participant.
    pub(crate) participant: u32,
    #[serde(flatten)]
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum What {
    Joined {
        round: u64,
        stack: String,
        leads: bool,
    },
    Changed {
        round: u64,
        stack: String,
        leads: bool,
    },
    Participants {
        count: usize,
    },
    Sending {
        number: u32,
    },
    Sent {
        number: u32,
        error: Option<String>,
    },
    Received {
        publisher: u32,
        number: u32,
    },
    Left,
    #[serde(other)]
    Other,
}

/// The history of a participant.
pub(crate) type History = Vec<Line>;

/// Returns the text that a process has written in each of its starts.
fn texts(directory: &Path, name: &str) -> Vec<String> {
    let file = |start: usize| std::fs::read_to_string(directory.join(format!("{name}.{start}"))).ok();
    (1..).map_while(file).collect()
}

/// Returns the lines of a text, without a line that a kill has cut short.
fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

/// Reads the histories of the process of this name, one history for each start.
///
/// # Errors
/// The first line that can't be parsed.
pub(crate) fn read(directory: &Path, name: &str) -> Result<Vec<History>, String> {
    let parse = |line| serde_json::from_str(line).map_err(|error| format!("{name}: {line}: {error}"));
    texts(directory, name).iter().map(|text| lines(text).map(parse).collect()).collect()
}

/// Returns the round and the stack in which a process sends in its latest start, if it knows of `count`
/// participants.
pub(crate) fn in_force_among(count: usize, directory: &Path, name: &str) -> Option<(u64, String)> {
    let text = texts(directory, name).pop()?;
    // The function is called often, so it finds the few lines that it needs before it parses them.
    let last = |mark: &str| lines(&text).rfind(|line| line.contains(mark)).map(serde_json::from_str::<Line>);
    let known = last("\"event\":\"participants\"")?.ok()?.what;
    match last("\"stack\":")?.ok()?.what {
        What::Joined { round, stack, .. } | What::Changed { round, stack, .. }
            if known == (What::Participants { count }) =>
        {
            Some((round, stack))
        }
        _ => None,
    }
}

/// A message: its publisher, and its number among the publisher's messages.
type Id = (u32, u32);

/// Returns the messages of each participant, in the order in which it received them.
fn received(histories: &[History]) -> BTreeMap<u32, Vec<Id>> {
    let mut received: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for Line { participant, what, .. } in histories.iter().flatten() {
        if let What::Received { publisher, number } = what {
            received.entry(*participant).or_default().push((*publisher, *number));
        }
    }
    received
}

/// Returns the time of the last event.
pub(crate) fn latest(histories: &[History]) -> u64 {
    histories.iter().flatten().map(|line| line.at).max().unwrap_or(0)
}

/// Checks the promises that hold whatever fails: each received message was sent, no message is received
/// twice, and each publisher's messages come in their order.
pub(crate) fn in_order(histories: &[History], summary: &mut Summary) -> Result<(), String> {
    let sent = histories.iter().flatten().filter_map(|line| match line.what {
        What::Sending { number } => Some((line.participant, number)),
        _ => None,
    });
    let sent: BTreeSet<Id> = sent.collect();
    summary.published += sent.len();
    let changes = histories.iter().flatten().filter(|line| matches!(line.what, What::Changed { .. }));
    summary.topic_changes += changes.count();
    for (receiver, messages) in received(histories) {
        let mut last = BTreeMap::new();
        for id @ (publisher, number) in messages {
            if !sent.contains(&id) {
                return Err(format!("{receiver} received {number} of {publisher}, which was not sent"));
            }
            let before = last.insert(publisher, number);
            if before.is_some_and(|before| before >= number) {
                return Err(format!("{receiver} received {number} of {publisher} after {before:?}"));
            }
            summary.delivered += 1;
            summary.passed_over += before.map_or(0, |before| (number - before - 1) as usize);
        }
    }
    Ok(())
}

/// Checks the promises that hold while nothing fails, for the messages sent from the time `since` on. A
/// participant that was there all the time receives all messages. A participant that came receives all
/// messages of a publisher after the first that it receives, and a participant that left receives all
/// messages up to its last. All participants receive the messages in one order.
pub(crate) fn complete(histories: &[History], since: u64) -> Result<(), String> {
    let (mut joined, mut left, mut sent) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    for line in histories.iter().flatten() {
        match line.what {
            What::Joined { .. } => drop(joined.insert(line.participant, line.at)),
            What::Left => drop(left.insert(line.participant)),
            What::Sending { number } if line.at >= since => {
                sent.entry(line.participant).or_insert((number, number)).1 = number;
            }
            _ => {}
        }
    }
    let mut received = received(histories);
    let is_new = |(publisher, number): &Id| sent.get(publisher).is_some_and(|(first, _)| number >= first);
    received.values_mut().for_each(|messages| messages.retain(is_new));
    // Participants that were killed before receive no more messages. A present publisher receives messages as
    // well.
    received.retain(|_, messages| !messages.is_empty());
    for publisher in sent.keys() {
        received.entry(*publisher).or_default();
    }
    for (receiver, messages) in &received {
        let was_there = joined.get(receiver).is_some_and(|at| *at < since);
        for (publisher, (first, last)) in sent.iter().filter(|(publisher, _)| *publisher != receiver) {
            let numbers = messages.iter().filter(|(of, _)| of == publisher).map(|(_, number)| *number);
            let numbers: Vec<u32> = numbers.collect();
            let from = if was_there { Some(*first) } else { numbers.first().copied() };
            let to = if left.contains(receiver) { numbers.last().copied() } else { Some(*last) };
            // A participant that left before a publisher came, or came after the publisher had left, has none
            // of its messages.
            if let (Some(from), Some(to)) = (from, to)
                && !numbers.iter().copied().eq(from..=to)
            {
                let missing = (from..=to).find(|number| !numbers.contains(number));
                return Err(format!(
                    "{receiver} did not receive {missing:?} of {from} to {to} of {publisher}"
                ));
            }
        }
    }
    one_order(&received)
}

/// Checks that any two participants received the messages that both received in one order.
fn one_order(received: &BTreeMap<u32, Vec<Id>>) -> Result<(), String> {
    for (other, messages) in received {
        let places: BTreeMap<_, _> = messages.iter().enumerate().map(|(at, id)| (id, at)).collect();
        for (receiver, messages) in received {
            let common: Vec<_> = messages.iter().filter_map(|id| Some((id, places.get(id)?))).collect();
            if let Some(two) = common.windows(2).find(|two| two[0].1 > two[1].1) {
                return Err(format!(
                    "{receiver} received {:?} before {:?}, {other} did not",
                    two[0].0, two[1].0
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: u64 = 100;

    /// A participant: its number, the time at which it came, true if it has left, and the messages that it
    /// received.
    type Receiver<'a> = (u32, u64, bool, &'a [Id]);

    /// Makes the histories of two participants that were there all the time and have sent three messages
    /// each, and of receivers.
    fn histories(receivers: &[Receiver<'_>]) -> Vec<History> {
        let line = |participant, at, what| Line { at, participant, what };
        let history = |(id, at, has_left, messages): Receiver<'_>| {
            let mut history = vec![line(id, at, What::Joined { round: 1, stack: "X".into(), leads: false })];
            let received = |&(publisher, number): &Id| line(id, SINCE, What::Received { publisher, number });
            history.extend(messages.iter().map(received));
            history.extend(has_left.then(|| line(id, SINCE, What::Left)));
            history
        };
        let publisher = |id: u32| {
            let mut history = history((id, 0, false, &[0, 1, 2].map(|number| (3 - id, number))));
            history.extend((0..3).map(|number| line(id, SINCE, What::Sending { number })));
            history
        };
        [1, 2].map(publisher).into_iter().chain(receivers.iter().map(|it| history(*it))).collect()
    }

    fn checked(receivers: &[Receiver<'_>]) -> (bool, bool) {
        let histories = histories(receivers);
        let in_order = in_order(&histories, &mut Summary::default());
        (in_order.is_ok(), complete(&histories, SINCE).is_ok())
    }

    #[test]
    fn what_is_wrong_with_a_topic_is_found() {
        let all = &[(1, 0), (1, 1), (2, 0), (1, 2), (2, 1), (2, 2)][..];
        let swapped = &[(1, 0), (1, 1), (2, 0), (2, 1), (1, 2), (2, 2)][..];
        assert_eq!(checked(&[(7, 0, false, all), (8, 0, false, all)]), (true, true));
        assert_eq!(checked(&[(7, 0, false, all), (8, 0, false, swapped)]), (true, false));
        assert_eq!(checked(&[(7, 0, false, &all[1..])]), (true, false), "the first is missing");
        assert_eq!(checked(&[(7, SINCE, false, &all[1..])]), (true, true), "a newcomer");
        assert_eq!(checked(&[(7, SINCE, false, &all[..5])]), (true, false), "the last is missing");
        assert_eq!(checked(&[(7, 0, true, &all[..4])]), (true, true), "whoever leaves");
        assert_eq!(checked(&[(7, 0, true, &[(1, 0), (1, 2)])]), (true, false), "one is missing");
        assert_eq!(checked(&[(7, 0, true, &[(1, 0), (1, 0)])]), (false, false), "one twice");
        assert_eq!(checked(&[(7, 0, true, &[(1, 1), (1, 0)])]), (false, false), "swapped");
        assert!(!checked(&[(7, 0, true, &[(1, 7)])]).0, "not sent");
        assert_eq!(checked(&[(7, 0, false, &[])]), (true, true), "nobody who says anything");
    }

    #[test]
    fn a_line_that_a_kill_cut_short_is_left_out() {
        let text = "{\"at\":1,\"participant\":7,\"event\":\"sent\",\"number\":0,\"error\":null}\n{\"at\":2,";
        let read: Vec<Line> = lines(text).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((read.len(), &read[0].what), (1, &What::Sent { number: 0, error: None }));
    }
}
