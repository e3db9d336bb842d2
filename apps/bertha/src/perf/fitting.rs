//! The length of messages that reach the server.

use super::stream::TIME_LIMIT;
use crate::probe::{Kind, Probe, goes_on, mark};
use bertha::{Base, Buf, Connection, Error};
use tokio::time::{Instant, timeout_at};

/// Lengths that are tried if the longest message gets no answer: those of paths of 9,000 and of 1,500 bytes, with
/// room for headers.
const SHORTER: [usize; 2] = [8_800, 1_350];

/// Number of messages of a length that are tried.
const TRIES: u64 = 3;

/// Returns the longest of a few lengths, at most `longest`, with which the server answers. A datagram that is longer
/// than the path carries, or than the server's datapath takes, is lost without a word. If the server answers with
/// none of them, the result is the shortest.
///
/// # Errors
/// Errors that end the connection.
pub(super) async fn fitting(
    connection: &impl Connection<Data = Buf>,
    longest: usize,
) -> Result<usize, Error> {
    let mut length = longest;
    for shorter in SHORTER.into_iter().filter(|shorter| *shorter < longest) {
        if is_answered(connection, length).await? {
            return Ok(length);
        }
        length = shorter;
    }
    Ok(length)
}

async fn is_answered(connection: &impl Connection<Data = Buf>, length: usize) -> Result<bool, Error> {
    for number in 0..TRIES {
        let mut message = connection.base().buffer(length)?;
        mark(&mut message, Kind::Ping, number);
        match connection.send(message).await {
            Err(error) if !goes_on(&error) => return Err(error),
            _ => {}
        }
        let until = Instant::now() + TIME_LIMIT;
        while let Ok(received) = timeout_at(until, connection.recv()).await {
            match received {
                Ok(message) => {
                    if matches!(Probe::read(&message), Some(Probe::Pong(_))) && message.len() == length {
                        return Ok(true);
                    }
                }
                Err(error) if goes_on(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha::Datapath;
    use bertha::kernel::Udp;
    use tokio::net::UdpSocket;

    #[tokio::test]
    async fn a_length_is_found_that_the_path_carries() {
        for (carried, expected) in [(60_000, 60_000), (9_000, 8_800), (1_500, 1_350), (500, 1_350)] {
            let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let address = server.local_addr().unwrap();
            let answering = async {
                let mut bytes = vec![0; 1 << 16];
                loop {
                    let (length, from) = server.recv_from(&mut bytes).await.unwrap();
                    bytes[0] = Kind::Pong as u8;
                    if length <= carried {
                        server.send_to(&bytes[..length], from).await.unwrap();
                    }
                }
            };
            let connection = Udp::new().connect(address.into()).await.unwrap();
            let found = tokio::select! {
                found = fitting(&connection, 60_000) => found.unwrap(),
                () = answering => unreachable!("it never ends"),
            };
            assert_eq!(found, expected, "of {carried} bytes");
        }
    }
}
