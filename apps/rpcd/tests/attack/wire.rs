//! The wire between two daemons.

use super::*;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;

/// A way to a daemon that keeps all bytes of both directions. It is there until the program ends.
pub(crate) struct Wire {
    pub(crate) addr: SocketAddr,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Wire {
    /// Makes the way to an address.
    pub(crate) fn to(to: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let bytes = Arc::default();
        let kept = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for near in listener.incoming().map(Result::unwrap) {
                // A daemon that has gone takes no connection.
                let Ok(far) = TcpStream::connect(&to) else { continue };
                let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
                for (from, to) in [(near, far), back] {
                    let kept = Arc::clone(&kept);
                    std::thread::spawn(move || pass(from, to, &kept));
                }
            }
        });
        Self { addr, bytes }
    }

    /// Returns true if these bytes have passed, in either direction.
    pub(crate) fn had(&self, bytes: &[u8]) -> bool {
        has(&self.bytes.lock().unwrap(), bytes)
    }
}

/// Passes bytes on until their sender ends.
fn pass(mut from: TcpStream, mut to: TcpStream, kept: &Mutex<Vec<u8>>) {
    to.set_nodelay(true).unwrap();
    let mut bytes = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        kept.lock().unwrap().extend(&bytes[..read]);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // The other end may have gone before.
    let _shut = to.shutdown(Shutdown::Write);
}

/// Returns true if bytes have these anywhere.
pub(crate) fn has(bytes: &[u8], these: &[u8]) -> bool {
    let (first, mut rest) = (these[0], bytes);
    while let Some(place) = rest.iter().position(|byte| *byte == first) {
        if rest[place..].starts_with(these) {
            return true;
        }
        rest = &rest[place + 1..];
    }
    false
}
