//! The histories of processes.

use std::path::Path;

/// The stack in force, seen from one participant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) life: u64,
    pub(crate) round: u64,
    pub(crate) stack: String,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A participant came in, and uses this.
    Joined(InForce),
    /// All agreed to change to this.
    Commit(InForce),
    /// A participant was asked to make ready for this round's stack, and did.
    Stage(u64, String),
    /// So many participants are there.
    Participants(usize),
    /// A stream begins.
    Begun(u64),
    /// A number of a stream is about to be sent.
    Sent(u64, u64),
    /// So many numbers of a stream have arrived, as the receiver says.
    Acknowledged(u64, u64),
    /// The receiver has said that it has all of these.
    Complete(u64, u64),
    /// A number of a stream was received.
    Received(u64, u64),
    /// The stack of a stream's connection changed.
    Changed(u64),
    /// Something that is not checked.
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

/// All that the process of this name has written, start by start.
pub(crate) fn read(directory: &Path, name: &str) -> Vec<History> {
    let file = |start: usize| std::fs::read_to_string(directory.join(format!("{name}.{start}"))).ok();
    // A line is written at once, so what has no end is not yet written.
    let lines =
        |text: String| text.split_inclusive('\n').filter_map(|it| it.strip_suffix('\n')).map(parse).collect();
    // The first start may have been too short for a file.
    (1..)
        .map(file)
        .enumerate()
        .take_while(|(at, text)| *at == 0 || text.is_some())
        .flat_map(|(_, it)| it.map(lines))
        .collect()
}
