//! Frames that wait until their neighbour has told its address (RFC 1122, section 2.3.2.2; RFC 4861, section
//! 7.2.2).

use std::collections::VecDeque;
use std::net::IpAddr;

/// A few frames for each of a few neighbours.
/// The newest neighbour displaces the oldest, so even a flood of answers to addresses that do not exist
/// leaves the answer to an existing address here for long enough: an existing neighbour replies to a question
/// at once.
#[derive(Debug)]
pub struct Waiting<F> {
    /// Neighbours with waiting frames, the oldest first.
    neighbours: VecDeque<Neighbour<F>>,
    limits: WaitingLimits,
    /// Number of frames whose neighbour was displaced.
    displaced: u64,
}

/// The bounds of [`Waiting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingLimits {
    /// Largest number of frames for a neighbour.
    pub frames: usize,
    /// Largest number of neighbours.
    pub neighbours: usize,
}

#[derive(Debug)]
struct Neighbour<F> {
    address: IpAddr,
    frames: VecDeque<F>,
}

impl<F> Waiting<F> {
    /// Creates the list without frames.
    pub fn new(limits: WaitingLimits) -> Self {
        Self { neighbours: VecDeque::new(), limits, displaced: 0 }
    }

    /// Returns true if no frame waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Returns true if there is room for another frame for the neighbour with this address.
    pub fn has_room(&self, address: IpAddr) -> bool {
        let frames = self.neighbours.iter().find(|neighbour| neighbour.address == address);
        frames.is_none_or(|neighbour| neighbour.frames.len() < self.limits.frames)
    }

    /// Keeps `frame` for the neighbour with this address.
    ///
    /// # Errors
    /// Returns the frame if enough frames wait for this neighbour.
    pub fn push(&mut self, address: IpAddr, frame: F) -> Result<(), F> {
        if let Some(neighbour) = self.neighbours.iter_mut().find(|neighbour| neighbour.address == address) {
            if neighbour.frames.len() >= self.limits.frames {
                return Err(frame);
            }
            neighbour.frames.push_back(frame);
            return Ok(());
        }
        if self.neighbours.len() >= self.limits.neighbours
            && let Some(oldest) = self.neighbours.pop_front()
        {
            self.displaced += oldest.frames.len() as u64;
        }
        self.neighbours.push_back(Neighbour { address, frames: VecDeque::from([frame]) });
        Ok(())
    }

    /// Removes the first frame whose neighbour does not make it wait any longer. Returns it with the
    /// neighbour's address.
    pub fn pop(&mut self, mut still_waits: impl FnMut(IpAddr) -> bool) -> Option<(IpAddr, F)> {
        let at = self.neighbours.iter().position(|neighbour| !still_waits(neighbour.address))?;
        let neighbour = &mut self.neighbours[at];
        let address = neighbour.address;
        let frame = neighbour.frames.pop_front();
        if neighbour.frames.is_empty() {
            self.neighbours.remove(at);
        }
        // Every neighbour in the list has a frame.
        Some((address, frame?))
    }

    /// Returns the frames that wait.
    pub fn iter(&self) -> impl Iterator<Item = &F> {
        self.neighbours.iter().flat_map(|neighbour| &neighbour.frames)
    }

    /// Returns the number of frames that were dropped to make room since the last call.
    pub fn take_displaced(&mut self) -> u64 {
        std::mem::take(&mut self.displaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    #[test]
    fn frames_wait_in_order_for_their_neighbour() {
        let mut waiting = Waiting::new(WaitingLimits { frames: 3, neighbours: 2 });
        for (number, frame) in [(1, 'a'), (2, 'x'), (1, 'b'), (1, 'c')] {
            waiting.push(address(number), frame).unwrap();
        }
        assert!(
            !waiting.has_room(address(1)) && waiting.has_room(address(2)) && waiting.has_room(address(3))
        );
        assert_eq!(waiting.push(address(1), 'd'), Err('d'));
        assert_eq!(waiting.pop(|_| true), None);
        let settled =
            |waiting: &mut Waiting<char>| waiting.pop(|it| it != address(1)).map(|(_, frame)| frame);
        assert_eq!([0; 4].map(|_| settled(&mut waiting)), [Some('a'), Some('b'), Some('c'), None]);
        assert_eq!((waiting.pop(|_| false), waiting.is_empty()), (Some((address(2), 'x')), true));
    }

    #[test]
    fn the_newest_neighbour_displaces_the_oldest() {
        let mut waiting = Waiting::new(WaitingLimits { frames: 4, neighbours: 2 });
        for number in [1, 1, 2, 3] {
            waiting.push(address(number), number).unwrap();
        }
        assert_eq!((waiting.take_displaced(), waiting.take_displaced()), (2, 0));
        assert_eq!(waiting.iter().copied().collect::<Vec<_>>(), [2, 3]);
    }
}
