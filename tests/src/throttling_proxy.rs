//! A proxy that throttles: HTTP/1.1 to a server, with a single request per connection.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Number of bytes in the longest request.
const MAX_REQUEST: usize = 16 << 20;

/// A proxy that forwards requests to a server, and answers some by itself, with 429 and 503 in turn, as
/// [`refuse`](Self::refuse) sets. It ends when it is dropped.
#[derive(Debug)]
pub struct ThrottlingProxy {
    addr: SocketAddr,
    plan: Arc<Plan>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Plan {
    to_refuse: AtomicUsize,
    refused: AtomicUsize,
    forwarded: AtomicUsize,
}

impl ThrottlingProxy {
    /// Starts a proxy in front of `server`, at a port of its own.
    ///
    /// # Panics
    /// Panics without a free port.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, plan) = (listener.local_addr().unwrap(), Arc::new(Plan::default()));
        let shared = plan.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let plan = shared.clone();
                // A client or a server that goes away ends only its own request.
                tokio::spawn(async move { serve(client, server, &plan).await });
            }
        });
        Self { addr, plan, task }
    }

    /// Returns the address of the proxy.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Refuses the next `requests` requests. The number replaces any earlier number.
    pub fn refuse(&self, requests: usize) {
        self.plan.to_refuse.store(requests, Relaxed);
    }

    /// Returns the number of refused requests.
    pub fn refused(&self) -> usize {
        self.plan.refused.load(Relaxed)
    }

    /// Returns the number of forwarded requests.
    pub fn forwarded(&self) -> usize {
        self.plan.forwarded.load(Relaxed)
    }
}

impl Drop for ThrottlingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Plan {
    /// Returns the status with which a request is refused, if it is refused.
    fn refusal(&self) -> Option<&'static str> {
        let one_less = |left: usize| if left == usize::MAX { Some(left) } else { left.checked_sub(1) };
        self.to_refuse.fetch_update(Relaxed, Relaxed, one_less).ok()?;
        let before = self.refused.fetch_add(1, Relaxed);
        Some(if before.is_multiple_of(2) { "429 Too Many Requests" } else { "503 Service Unavailable" })
    }
}

async fn serve(mut client: TcpStream, server: SocketAddr, plan: &Plan) -> Result<()> {
    let request = read_request(&mut client).await?;
    if let Some(status) = plan.refusal() {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        client.write_all(answer.as_bytes()).await?;
        return client.shutdown().await;
    }
    plan.forwarded.fetch_add(1, Relaxed);
    let mut server = TcpStream::connect(server).await?;
    server.write_all(&request).await?;
    tokio::io::copy(&mut server, &mut client).await?;
    client.shutdown().await
}

/// Reads a request, and adds the header that ends the connection behind the answer: so the proxy need not
/// look for the answer's end.
async fn read_request(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut client = BufReader::new(client);
    let (mut request, mut len, mut is_chunked) = (Vec::new(), 0, false);
    loop {
        let line = line(&mut client).await?;
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "connection" => continue,
            "content-length" => len = value.trim().parse().map_err(|_| malformed())?,
            "transfer-encoding" => is_chunked = true,
            _ => {}
        }
        request.extend_from_slice(line.as_bytes());
    }
    request.extend_from_slice(b"connection: close\r\n\r\n");
    if is_chunked {
        loop {
            let size = line(&mut client).await?;
            request.extend_from_slice(size.as_bytes());
            let digits = size.trim().split(';').next().unwrap_or_default();
            let chunk = usize::from_str_radix(digits, 16).map_err(|_| malformed())?;
            // The chunk is read with the end of its line.
            append(&mut client, &mut request, chunk + 2).await?;
            if chunk == 0 {
                return Ok(request);
            }
        }
    }
    append(&mut client, &mut request, len).await?;
    Ok(request)
}

async fn line(client: &mut BufReader<&mut TcpStream>) -> Result<String> {
    let mut line = String::new();
    client.take(1 << 16).read_line(&mut line).await?;
    if line.ends_with('\n') { Ok(line) } else { Err(malformed()) }
}

async fn append(client: &mut BufReader<&mut TcpStream>, request: &mut Vec<u8>, len: usize) -> Result<()> {
    let start = request.len();
    if start + len > MAX_REQUEST {
        return Err(malformed());
    }
    request.resize(start + len, 0);
    client.read_exact(&mut request[start..]).await?;
    Ok(())
}

fn malformed() -> Error {
    Error::new(ErrorKind::InvalidData, "not a request that this proxy knows")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a server that answers with the body of the request.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let request = read_request(&mut client).await.unwrap();
                let text = String::from_utf8(request).unwrap();
                assert!(text.contains("connection: close\r\n") && !text.contains("keep-alive"), "{text}");
                let body = text.split_once("\r\n\r\n").unwrap().1;
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                client.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        addr
    }

    async fn ask(addr: SocketAddr, request: &str) -> String {
        let mut connection = TcpStream::connect(addr).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn requests_are_forwarded_or_refused() {
        let proxy = ThrottlingProxy::start(echo().await).await;
        let plain = "POST / HTTP/1.1\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        assert!(ask(proxy.addr(), plain).await.ends_with("\r\n\r\nhello"));
        assert!(ask(proxy.addr(), chunked).await.ends_with("5\r\nhello\r\n0\r\n\r\n"));
        proxy.refuse(2);
        assert!(ask(proxy.addr(), plain).await.starts_with("HTTP/1.1 429 "));
        assert!(ask(proxy.addr(), plain).await.starts_with("HTTP/1.1 503 "));
        assert!(ask(proxy.addr(), plain).await.starts_with("HTTP/1.1 200 "));
        assert_eq!((proxy.refused(), proxy.forwarded()), (2, 3));
    }
}
