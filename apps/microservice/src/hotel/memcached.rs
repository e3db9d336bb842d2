//! A client of memcached, for the two commands of its text protocol that a cache needs.

use bertha_core::{Error, ErrorKind};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

/// Longest key that memcached takes.
const LONGEST_KEY: usize = 250;

/// Longest value that memcached takes, unless it is told otherwise.
const LONGEST_VALUE: usize = 1 << 20;

/// Longest line of an answer.
const LONGEST_LINE: u64 = 512;

/// Longest time of a command. Its answer is worth less than the time, if it takes longer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A server of memcached, with one connection, which commands use one after another.
#[derive(Debug)]
pub struct Memcached {
    addr: SocketAddr,
    /// `None` before the first command, and after a command that failed or was given up: what comes on its connection is not read.
    connection: Mutex<Option<BufStream<TcpStream>>>,
}

impl Memcached {
    /// Creates a client of the server at an address. The first command connects.
    pub fn new(addr: SocketAddr) -> Self {
        Self { addr, connection: Mutex::new(None) }
    }

    /// Returns the values of those of some keys that have one.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for a key that memcached does not take, [`Malformed`](ErrorKind::Malformed) for an answer that is none,
    /// [`TimedOut`](ErrorKind::TimedOut), and errors of the connection.
    pub async fn get(&self, keys: &[String]) -> Result<HashMap<String, Vec<u8>>, Error> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let mut command = String::from("get");
        for key in keys {
            command.push(' ');
            command.push_str(checked(key)?);
        }
        command.push_str("\r\n");
        in_time(self.get_by(&command, keys.len())).await
    }

    async fn get_by(&self, command: &str, keys: usize) -> Result<HashMap<String, Vec<u8>>, Error> {
        let mut slot = self.connection.lock().await;
        let mut connection = self.take(&mut slot).await?;
        connection.write_all(command.as_bytes()).await?;
        connection.flush().await?;
        let mut values = HashMap::new();
        loop {
            let line = line(&mut connection).await?;
            if line == "END" {
                break;
            }
            let (key, bytes) = value(&line).ok_or_else(|| malformed(&line))?;
            if values.len() == keys {
                return Err(malformed("more values than keys"));
            }
            let mut value = vec![0; bytes + 2];
            connection.read_exact(&mut value).await?;
            if value.split_off(bytes) != b"\r\n" {
                return Err(malformed("a value without its end"));
            }
            values.insert(key.to_owned(), value);
        }
        *slot = Some(connection);
        Ok(values)
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get), and [`Refused`](ErrorKind::Refused) if memcached does not store it.
    pub async fn set(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        let head = format!("set {} 0 0 {}\r\n", checked(key)?, value.len());
        in_time(self.set_by(&head, value)).await
    }

    async fn set_by(&self, head: &str, value: &[u8]) -> Result<(), Error> {
        let mut slot = self.connection.lock().await;
        let mut connection = self.take(&mut slot).await?;
        for part in [head.as_bytes(), value, b"\r\n"] {
            connection.write_all(part).await?;
        }
        connection.flush().await?;
        let line = line(&mut connection).await?;
        if line != "STORED" {
            // What follows may be an answer to a value that it took for a command.
            return Err(Error::new(ErrorKind::Refused, format!("memcached says {line:?} to a value")));
        }
        *slot = Some(connection);
        Ok(())
    }

    /// Returns the connection, which the command puts back when it has read its whole answer.
    async fn take(&self, slot: &mut Option<BufStream<TcpStream>>) -> Result<BufStream<TcpStream>, Error> {
        if let Some(connection) = slot.take() {
            return Ok(connection);
        }
        let stream = TcpStream::connect(self.addr).await?;
        stream.set_nodelay(true)?;
        Ok(BufStream::new(stream))
    }
}

async fn in_time<T>(command: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let done = tokio::time::timeout(TIMEOUT, command).await;
    done.unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, "memcached does not answer")))
}

/// Returns a key, unless it would be more than one word of a command.
fn checked(key: &str) -> Result<&str, Error> {
    let is_word =
        !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic());
    is_word
        .then_some(key)
        .ok_or_else(|| Error::new(ErrorKind::Invalid, format!("{key:?} is no key of memcached")))
}

/// Reads a line, without its end.
async fn line(connection: &mut BufStream<TcpStream>) -> Result<String, Error> {
    let mut line = String::new();
    connection.take(LONGEST_LINE).read_line(&mut line).await?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(malformed(&line)),
    }
}

/// Returns the key and the length of the value that follows a line.
fn value(line: &str) -> Option<(&str, usize)> {
    let mut words = line.strip_prefix("VALUE ")?.split(' ');
    let (key, _flags, bytes) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    (bytes <= LONGEST_VALUE).then_some((key, bytes))
}

#[cold]
fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Malformed, format!("memcached answered {what:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Starts a server that reads a command and gives an answer, on as many connections as there are answers.
    async fn answering(answers: &'static [&'static str]) -> Memcached {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move {
            for answer in answers {
                let mut stream = BufStream::new(listener.accept().await.unwrap().0);
                stream.read_line(&mut String::new()).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
            }
        });
        Memcached::new(addr)
    }

    #[tokio::test]
    async fn an_answer_that_is_none_is_an_error_and_the_next_command_connects_again() {
        let answers = &[
            "VALUE a 0 5\r\nworldEND\r\n",
            "VALUE a 0 99999999\r\n",
            "VALUE a 0 x\r\n",
            "NO\r\n",
            "",
            "VALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n1\r\nEND\r\n",
            "VALUE a 0 5\r\nwo\r\nd\r\nEND\r\n",
        ];
        let client = answering(answers).await;
        for answer in &answers[..answers.len() - 1] {
            assert!(client.get(&["a".into()]).await.is_err(), "{answer}");
        }
        let values = client.get(&["a".into()]).await.unwrap();
        assert_eq!(values["a"], b"wo\r\nd");
    }

    #[tokio::test]
    async fn a_key_of_several_words_is_refused_before_anything_is_sent() {
        // Nothing listens there.
        let client = Memcached::new("127.0.0.1:1".parse().unwrap());
        for key in ["", "a b", "a\r\nflush_all", &"a".repeat(251)] {
            assert_eq!(client.get(&[key.into()]).await.unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(client.set(key, b"").await.unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
