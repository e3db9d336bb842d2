//! The histories of processes.

use std::path::Path;

/// The stack in force, as a participant sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) life: u64,
    pub(crate) round: u64,
    pub(crate) stack: String,
}

/// An event of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A participant came in, and uses this stack.
    Joined(InForce),
    /// All participants agreed to change to this stack.
    Commit(InForce),
    /// A participant has staged the stack of this round.
    Stage(u64, String),
    /// This number of participants is there.
    Participants(usize),
    /// A stream begins.
    Begun(u64),
    /// A number of a stream is about to be sent.
    Sent(u64, u64),
    /// The receiver reports that this number of numbers of a stream has arrived.
    Acknowledged(u64, u64),
    /// The receiver reports that it has all of these numbers.
    Complete(u64, u64),
    /// A number of a stream was received.
    Received(u64, u64),
    /// The stack of a stream's connection changed.
    Changed(u64),
    /// An event that is not checked.
    Other,
}

/// The history of one process, from one of its starts to the next.
pub(crate) type History = Vec<Line>;

fn parse(line: &str) -> Line {
    parsed(line).unwrap_or(Line::Other)
}

fn parsed(line: &str) -> Option<Line> {
    let mut words = line.split(' ').skip(1);
    let kind = words.next()?;
    let id = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
    let number = |word: Option<&str>| word?.parse().ok();
    Some(match kind {
        "joined" | "commit" => {
            let (life, round) = (id(words.next())?, number(words.next())?);
            let now = InForce { life, round, stack: words.next()?.into() };
            if kind == "joined" { Line::Joined(now) } else { Line::Commit(now) }
        }
        "stage" => Line::Stage(number(words.next())?, words.next()?.into()),
        "participants" => Line::Participants(number(words.next())? as usize),
        "begun" => Line::Begun(id(words.next())?),
        "changed" => Line::Changed(id(words.next())?),
        "sent" => Line::Sent(id(words.next())?, number(words.next())?),
        "acknowledged" => Line::Acknowledged(id(words.next())?, number(words.next())?),
        "complete" => Line::Complete(id(words.next())?, number(words.next())?),
        "received" => Line::Received(id(words.next())?, number(words.next())?),
        _ => return None,
    })
}

/// Reads the histories of the process of this name, one history for each start. A start may have been too short for a file.
pub(crate) fn read(directory: &Path, name: &str) -> Vec<History> {
    let file = |start: usize| directory.join(format!("{name}.{start}"));
    // A process writes a line at once, so a line without an end is not yet written.
    let lines =
        |text: String| text.split_inclusive('\n').filter_map(|it| it.strip_suffix('\n')).map(parse).collect();
    (1..)
        .map(file)
        // The test itself makes a file for the errors of each start.
        .take_while(|file| file.with_added_extension("errors").exists())
        .map(|file| std::fs::read_to_string(file).map_or_else(|_| History::new(), lines))
        .collect()
}
