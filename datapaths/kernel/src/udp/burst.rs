//! Sending several messages in one system call.

use bertha_core::{Buf, Error};
use rustix::io::Errno;
use std::io;

/// The longest message that goes into a segmented datagram: what an Ethernet frame carries of UDP over IPv6. Segments
/// can't be fragmented, so on a path with a smaller MTU segmentation fails, and is given up for the connection.
const SEGMENT: usize = 1500 - 40 - 8;

/// The fewest messages of equal length that are worth a call of their own when others of another length follow.
const RUN: usize = 4;

/// What to do with the first messages of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this many as one datagram that the kernel or the network card cuts up.
    Segmented(usize),
    /// Send this many as datagrams of their own.
    Separate(usize),
}

impl Step {
    pub(super) fn count(self) -> usize {
        match self {
            Self::Segmented(count) | Self::Separate(count) => count,
        }
    }
}

/// Decides on the first messages of a burst by their lengths.
pub(super) fn plan(lengths: impl Iterator<Item = usize> + Clone) -> Step {
    let whole = lengths.clone().count();
    let mut separate = 0;
    while separate < whole {
        let run = run(lengths.clone().skip(separate));
        if run >= RUN || (run >= 2 && run == whole) {
            return if separate == 0 { Step::Segmented(run) } else { Step::Separate(separate) };
        }
        separate += run;
    }
    Step::Separate(whole)
}

/// How many messages at the front fit one segmented datagram: all of one length, but the last may be shorter. At least
/// one.
fn run(mut lengths: impl Iterator<Item = usize>) -> usize {
    let Some(first) = lengths.next() else { return 0 };
    let mut count = 1;
    if first == 0 || first > SEGMENT {
        return count;
    }
    for length in lengths {
        if length == 0 || length > first {
            break;
        }
        count += 1;
        if length < first {
            break;
        }
    }
    count
}

/// Whether the kernel, the card or the path refused a datagram because it was segmented.
pub(super) fn segmentation_failed(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::INVAL | Errno::IO | Errno::MSGSIZE))
}

/// Copies messages behind each other. The copy costs a fraction of what a way of their own through the network stack
/// would.
pub(super) fn joined<'a>(messages: impl Iterator<Item = &'a Buf> + Clone) -> Result<Buf, Error> {
    let mut joined = Buf::new(messages.clone().map(|message| message.len()).sum(), 0)?;
    let mut rest = &mut joined[..];
    for message in messages {
        let (part, behind) = rest.split_at_mut(message.len());
        part.copy_from_slice(message);
        rest = behind;
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lengths: &[usize]) -> Vec<Step> {
        let mut rest = lengths;
        std::iter::from_fn(|| {
            let step = (!rest.is_empty()).then(|| plan(rest.iter().copied()))?;
            rest = &rest[step.count()..];
            Some(step)
        })
        .collect()
    }

    #[test]
    fn runs_of_equal_length_are_segmented() {
        use Step::*;
        assert_eq!(steps(&[64; 32]), [Segmented(32)]);
        assert_eq!(steps(&[64, 64, 64, 10]), [Segmented(4)]);
        assert_eq!(steps(&[64, 10]), [Segmented(2)]);
        assert_eq!(steps(&[10, 64]), [Separate(2)]);
        assert_eq!(steps(&[1, 64, 64, 64, 64, 2]), [Separate(1), Segmented(5)]);
        assert_eq!(steps(&[64, 64, 64, 64, 128, 9, 9, 9]), [Segmented(4), Separate(4)]);
    }

    #[test]
    fn what_no_segment_can_carry_goes_separately() {
        assert_eq!(steps(&[SEGMENT + 1; 8]), [Step::Separate(8)]);
        assert_eq!(steps(&[0; 8]), [Step::Separate(8)]);
        assert_eq!(steps(&[64, 0, 64, 0]), [Step::Separate(4)]);
        assert_eq!(steps(&[5]), [Step::Separate(1)]);
    }
}
