//! The transfer over the kernel's TCP.

use super::{CHUNK, LOOPBACK, REQUEST, Setup, file};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use futures_util::future::try_join_all;
use nix::sys::socket::{setsockopt, sockopt::TcpMaxSeg};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Length of TCP's header less UDP's header, which is not part of [`Setup::datagram`].
const LESS: usize = 20 - 8;

fn socket(setup: &Setup) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // The system's own choice is as large as loopback carries.
    if setup.datagram < LOOPBACK {
        setsockopt(&socket, TcpMaxSeg, &((setup.datagram - LESS) as u32))?;
    }
    Ok(socket)
}

pub(super) fn run(setup: &Setup) -> Result<f64, Error> {
    let file = file(setup);
    let (tell, told) = tokio::sync::oneshot::channel();
    meet(
        Placement::AcrossCores,
        || async {
            let serving = async {
                let socket = socket(setup)?;
                socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
                let listener = socket.listen(1024)?;
                // A client that has given up reports an error of its own.
                let _ = tell.send(listener.local_addr()?);
                let mut clients = Vec::new();
                for _ in 0..setup.connections {
                    let ((mut stream, _), file) = (listener.accept().await?, file.clone());
                    clients.push(tokio::spawn(async move {
                        stream.set_nodelay(true)?;
                        stream.read_exact(&mut [0; REQUEST.len()]).await?;
                        stream.write_all(&file).await?;
                        stream.shutdown().await
                    }));
                }
                for client in clients {
                    client.await??;
                }
                Ok(())
            };
            serving.await.map_err(failed)
        },
        || async {
            let server: SocketAddr =
                told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
            let receiving = async {
                let connecting = (0..setup.connections).map(async |_| socket(setup)?.connect(server).await);
                let mut streams: Vec<TcpStream> = try_join_all(connecting).await?;
                let start = Instant::now();
                try_join_all(streams.iter_mut().map(|stream| receive(stream, setup.bytes))).await?;
                Ok((setup.connections * setup.bytes) as f64 / start.elapsed().as_secs_f64())
            };
            receiving.await.map_err(failed)
        },
    )
}

async fn receive(stream: &mut TcpStream, bytes: usize) -> io::Result<()> {
    stream.write_all(REQUEST).await?;
    let mut received = 0;
    let mut chunk = vec![0; CHUNK];
    while received < bytes {
        match stream.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => received += read,
        }
    }
    Ok(())
}

fn failed(error: io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, "moving files over TCP")(error)
}
