//! A proxy in front of an HTTP server, which has it too busy for some requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The proxy. Ends with the runtime.
pub(crate) struct Busy {
    /// Where it listens: `http://ADDRESS`.
    pub(crate) url: String,
    left: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Busy {
    /// In front of the server at `url`, of which only host and port count.
    pub(crate) async fn in_front_of(url: &str) -> Self {
        let server = url.split("//").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let left = Arc::new(AtomicUsize::new(0));
        let refuse = left.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, refuse) = (server.clone(), refuse.clone());
                // A client that goes away in the middle is nobody's concern.
                tokio::spawn(async move { drop(serve(client, &server, &refuse).await) });
            }
        });
        Self { url, left, task }
    }

    /// Has the next `requests` requests fail with 429 and 503, in turn.
    pub(crate) fn switch(&self) -> Box<dyn Fn(usize)> {
        let left = self.left.clone();
        Box::new(move |requests| left.store(requests, Ordering::Relaxed))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(client: TcpStream, server: &str, left: &AtomicUsize) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let mut server = BufReader::new(TcpStream::connect(server).await?);
    loop {
        let request = message(&mut client, false).await?;
        let refused = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left {
            usize::MAX => Some(left),
            left => left.checked_sub(1),
        });
        if let Ok(left) = refused {
            let status = if left % 2 == 0 { "429 Too Many Requests" } else { "503 Service Unavailable" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            client.get_mut().write_all(answer.as_bytes()).await?;
            continue;
        }
        server.get_mut().write_all(&request).await?;
        let answer = message(&mut server, request.starts_with(b"HEAD")).await?;
        client.get_mut().write_all(&answer).await?;
    }
}

/// A whole request or answer.
async fn message(from: &mut BufReader<TcpStream>, is_head: bool) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut fields = HashMap::new();
    loop {
        let start = all.len();
        if from.read_until(b'\n', &mut all).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = String::from_utf8_lossy(&all[start..]).trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            fields.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    if is_head {
        return Ok(all);
    }
    if fields.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let start = all.len();
            from.read_until(b'\n', &mut all).await?;
            let length = usize::from_str_radix(String::from_utf8_lossy(&all[start..]).trim(), 16).unwrap();
            read(from, &mut all, length + 2).await?;
            if length == 0 {
                return Ok(all);
            }
        }
    }
    let length = fields.get("content-length").map_or(0, |length| length.parse().unwrap());
    read(from, &mut all, length).await?;
    Ok(all)
}

async fn read(from: &mut BufReader<TcpStream>, into: &mut Vec<u8>, length: usize) -> std::io::Result<()> {
    let start = into.len();
    into.resize(start + length, 0);
    from.read_exact(&mut into[start..]).await.map(drop)
}
