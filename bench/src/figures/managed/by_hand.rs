//! The applications at the two ends of a TCP socket, with nothing else: what the kernel takes.

use super::ANSWER;
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use std::io::{ErrorKind::UnexpectedEof, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of bytes of a question.
pub(super) const QUESTION: usize = 64;

/// Answers questions of a connection after another, and says its address in a line.
///
/// # Errors
/// Errors of the sockets.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(super) fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    println!("ready at {}", listener.local_addr().map_err(failed)?);
    loop {
        let (mut socket, _) = listener.accept().map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        let mut question = [0; QUESTION];
        loop {
            match socket.read_exact(&mut question) {
                Ok(()) => socket.write_all(&[7; ANSWER]).map_err(failed)?,
                Err(error) if error.kind() == UnexpectedEof => break,
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// Makes the calls of a load, one at a time.
///
/// # Errors
/// Errors of the socket.
pub(super) async fn ask(server: SocketAddr, load: Load) -> Result<Sample, Error> {
    let socket = TcpStream::connect(server).map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    let socket = Arc::new(Mutex::new(socket));
    load.run(move |payload| {
        let socket = Arc::clone(&socket);
        async move {
            // Nobody else waits for it, and nothing else runs on the thread.
            let mut socket = socket.lock().unwrap_or_else(PoisonError::into_inner);
            socket.write_all(&payload).map_err(failed)?;
            socket.read_exact(&mut [0; ANSWER]).map_err(failed)?;
            Ok(payload.len())
        }
    })
    .await
}

fn failed(error: std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, "exchanging bytes over TCP")(error)
}
