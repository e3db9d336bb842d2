//! Commands that have arrived and were not carried out.

use crate::resp::Command;
use crate::resp::format::Frame;
use std::collections::VecDeque;

/// Room for so many commands is kept.
const KEPT: usize = 1024;

/// Commands in the order of their arrival, and the memory that they take.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    commands: VecDeque<Command>,
    memory: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The memory that they take, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Takes the first command.
    pub(super) fn pop(&mut self) -> Option<Command> {
        let command = self.commands.pop_front()?;
        self.memory -= command.memory();
        if self.commands.is_empty() {
            self.commands.shrink_to(KEPT);
        }
        Some(command)
    }
}

impl Extend<Frame> for Waiting {
    fn extend<I: IntoIterator<Item = Frame>>(&mut self, frames: I) {
        for frame in frames {
            // Clients send nothing else.
            let Frame::Command(command) = frame else { continue };
            self.memory += command.memory();
            self.commands.push_back(command);
        }
    }
}
