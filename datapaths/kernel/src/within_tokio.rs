//! The check that sockets are opened within tokio.

use std::io;
use tokio::runtime::Handle;

/// Returns an error outside of a tokio runtime, where the constructors of tokio's sockets panic.
pub(crate) fn within_tokio() -> io::Result<()> {
    Handle::try_current().map(drop).map_err(|_| {
        let what = "sockets of the kernel need tokio, and this task runs on another runtime, or on none: with the feature `datapath-caladan` of \
                    `bertha`, use `bertha::datapath()`, or leave that feature off";
        io::Error::new(io::ErrorKind::Unsupported, what)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use crate::{Tcp, Udp, UdpMulticast, Unix, UnixStream};
    use bertha_core::{Addr, Datapath, Error, ErrorKind, Group};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn refused<T>(opening: impl Future<Output = Result<T, Error>>) {
        let polled = pin!(opening).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(error)) = polled else { panic!("no error outside of tokio") };
        assert!(error.kind() == ErrorKind::Unavailable && error.context().contains("tokio"), "{error}");
    }

    #[test]
    fn every_socket_says_so() {
        let ip = || Addr::from(([127, 0, 0, 1], 0));
        let path = |name| {
            format!("unix:@bertha-within-tokio-{name}-{}", std::process::id()).parse::<Addr>().unwrap()
        };
        refused(Udp::new().listen(ip()));
        refused(Udp::new().connect(([127, 0, 0, 1], 9).into()));
        refused(Tcp::new().listen(ip()));
        refused(Tcp::new().connect(([127, 0, 0, 1], 9).into()));
        refused(Unix::new().listen(path("datagrams")));
        refused(UnixStream::new().listen(path("streams")));
        refused(UdpMulticast::new("239.255.77.1:7777".parse().unwrap()).join());
    }
}
