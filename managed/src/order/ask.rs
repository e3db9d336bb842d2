//! The way of an order to the daemon, and of the answer back.

use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::sleep;

/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(5);

/// Number of bytes of the longest answer.
const LONGEST_ANSWER: u64 = 4 << 20;

/// Connects to the daemon. The kernel's queue is full for a moment when many come at once.
pub(super) async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(PAUSE).await,
            connected => return connected,
        }
    }
}

/// Says an order, and returns the answer. A daemon that refuses the order may do so before it has read all, or any of it.
pub(super) async fn ask(mut socket: UnixStream, line: &[u8], content: &[u8]) -> io::Result<String> {
    let written = async {
        socket.write_all(line).await?;
        socket.write_all(content).await
    };
    let written = written.await;
    let mut answer = Vec::new();
    let heard = socket.take(LONGEST_ANSWER).read_to_end(&mut answer).await;
    if answer.is_empty() {
        written?;
        heard?;
    }
    String::from_utf8(answer).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;
    use std::io::{Read, Write};

    #[tokio::test]
    async fn an_answer_is_heard_though_the_daemon_reads_nothing() {
        let (ours, mut daemon) = UnixStream::pair().unwrap();
        daemon.write_all(b"refused\nyou are no operator\n").await.unwrap();
        drop(daemon);
        assert_eq!(ask(ours, b"list\n", b"").await.unwrap(), "refused\nyou are no operator\n");
        let (ours, mut daemon) = UnixStream::pair().unwrap();
        let asking = tokio::spawn(ask(ours, b"list\n", b""));
        daemon.write_all(b"refused\n").await.unwrap();
        while daemon.try_read(&mut [0; 1]).is_err() {
            tokio::task::yield_now().await;
        }
        // What is left unread resets the connection.
        drop(daemon);
        assert_eq!(asking.await.unwrap().unwrap(), "refused\n");
        let (ours, daemon) = UnixStream::pair().unwrap();
        drop(daemon);
        assert_eq!(ask(ours, b"list\n", b"").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    /// Others that fill the kernel's queue make an operator wait.
    #[tokio::test]
    async fn a_queue_that_is_full_is_no_missing_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let attach = folder.path().join("rpcd");
        let listener = listening(&Order::socket(&attach));
        let mut others = Vec::new();
        while let Ok(other) = UnixStream::connect(Order::socket(&attach)).await {
            others.push(other);
        }
        let giving = tokio::spawn(async move { Order::List.give(&attach).await });
        sleep(PAUSE * 4).await;
        drop(others);
        let serving = std::thread::spawn(move || {
            loop {
                let (mut socket, _) = listener.accept().unwrap();
                if socket.read(&mut [0; 9]).unwrap() > 0 {
                    return socket.write_all(b"done\nall").unwrap();
                }
            }
        });
        assert_eq!(giving.await.unwrap().unwrap(), "all");
        serving.join().unwrap();
    }

    /// Listens with a short queue.
    fn listening(path: &Path) -> std::os::unix::net::UnixListener {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
        let listening = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        bind(&listening, &SocketAddrUnix::new(path).unwrap()).unwrap();
        listen(&listening, 1).unwrap();
        listening.into()
    }
}
