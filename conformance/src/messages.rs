//! The messages that the checks send.

use bertha_core::{Base, Buf, Connection};

/// The conversion between messages and the numbers that checks put into them.
pub trait Messages<T>: Sync {
    /// Returns a message with `number`, for sending through `connection`. Different numbers should give
    /// different lengths.
    fn make<C: Connection<Data = T>>(&self, connection: &C, number: u64) -> T;

    /// Returns the number in `message`.
    ///
    /// # Panics
    /// Panics if the message was changed.
    fn number(&self, message: &T) -> u64;

    /// Returns a message that is too large for `connection`, if there is such a message.
    fn oversize<C: Connection<Data = T>>(&self, connection: &C) -> Option<T>;
}

/// Messages of bytes, for base connections.
#[derive(Debug, Clone, Copy)]
pub struct Bufs;

impl Messages<Buf> for Bufs {
    fn make<C: Connection<Data = Buf>>(&self, connection: &C, number: u64) -> Buf {
        let mut buf = connection.base().buffer(8 + padding(number)).unwrap();
        buf.fill(number as u8);
        buf[..8].copy_from_slice(&number.to_be_bytes());
        buf
    }

    fn number(&self, message: &Buf) -> u64 {
        let number = u64::from_be_bytes(message[..8].try_into().unwrap());
        assert_eq!(message.len(), 8 + padding(number), "message {number} was cut or grew");
        assert!(message[8..].iter().all(|byte| *byte == number as u8), "message {number} was changed");
        number
    }

    fn oversize<C: Connection<Data = Buf>>(&self, connection: &C) -> Option<Buf> {
        Buf::new(connection.mtu().checked_add(1)?, 0).ok()
    }
}

fn padding(number: u64) -> usize {
    (number % 50) as usize
}
