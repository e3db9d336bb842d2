//! A few consecutive messages, or buffers of messages, held on the stack.

use bertha_core::Buf;

/// Largest number of messages that a system call takes or returns.
pub(crate) const WINDOW: usize = 32;

/// Up to [`WINDOW`] messages in order. The window lives in the future of a batch call, so that no burst needs
/// an allocation.
#[derive(Debug)]
pub struct Window<T = Buf> {
    messages: [Option<T>; WINDOW],
    first: usize,
    end: usize,
}

impl<T> Window<T> {
    pub(crate) const fn new() -> Self {
        Self { messages: [const { None }; WINDOW], first: 0, end: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Returns true if the last filling left no room: only then may its source have more messages.
    pub(crate) fn was_filled(&self) -> bool {
        self.end == WINDOW
    }

    /// Appends as many messages as fit, at most `limit`.
    pub(crate) fn fill(&mut self, messages: &mut impl Iterator<Item = T>, limit: usize) {
        if self.is_empty() {
            (self.first, self.end) = (0, 0);
        }
        let stop = self.end.saturating_add(limit).min(WINDOW);
        while self.end < stop {
            let Some(message) = messages.next() else { break };
            self.messages[self.end] = Some(message);
            self.end += 1;
        }
    }

    /// Returns the messages in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.messages[self.first..self.end].iter().flatten()
    }

    /// Removes the first message.
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.first += 1;
        self.messages[self.first - 1].take()
    }

    /// Drops the first `count` messages.
    pub(crate) fn drop_first(&mut self, count: usize) {
        for _ in 0..count {
            self.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(n: u8) -> Buf {
        Buf::copy_of(&[n], 0).unwrap()
    }

    #[test]
    fn keeps_order_over_refills() {
        let mut window = Window::new();
        let mut source = (0..80).map(numbered);
        let mut seen = Vec::new();
        loop {
            window.fill(&mut source, 10);
            if window.is_empty() {
                break;
            }
            seen.extend(window.iter().next().map(|buf| buf[0]));
            window.drop_first(1);
            seen.extend((0..3).filter_map(|_| window.pop()).map(|buf| buf[0]));
        }
        assert_eq!(seen, (0..80).collect::<Vec<_>>());
    }

    #[test]
    fn never_takes_more_than_it_holds() {
        let mut window = Window::new();
        let mut source = (0..80).map(numbered);
        window.fill(&mut source, usize::MAX);
        assert_eq!((window.iter().count(), source.next().unwrap()[0]), (WINDOW, WINDOW as u8));
    }
}
