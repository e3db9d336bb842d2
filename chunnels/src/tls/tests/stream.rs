//! Streams of another protocol.

use super::authority::{Authority, NAME};
use crate::Tls;
use bertha_core::{Addr, Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};

const PROTOCOL: &str = "h2";

fn ends(client: &Authority, server: &Authority) -> [Tls; 2] {
    let client = Tls::client(NAME, client.trust()).unwrap();
    let server = Tls::server(server.identity()).unwrap();
    [client, server].map(|tls| tls.protocol(PROTOCOL).unwrap())
}

type Shaken<S> = Result<S, Error>;

async fn shaken(
    client: &Tls,
    server: &Tls,
) -> (Shaken<impl AsyncRead + AsyncWrite + Unpin + use<>>, Shaken<impl AsyncRead + AsyncWrite + Unpin + use<>>)
{
    let (here, there) = duplex(1 << 10);
    let peer: Addr = "10.0.0.1:80".parse().unwrap();
    tokio::join!(client.stream(here, &peer), server.stream(there, &peer))
}

/// Sends bytes to the client, behind which a resumed session is offered as well.
async fn works(client: &Tls, server: &Tls) {
    let (here, there) = shaken(client, server).await;
    let (mut here, mut there) = (here.unwrap(), there.unwrap());
    let sent: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
    let mut received = Vec::new();
    let (_, read) = tokio::join!(
        async {
            there.write_all(&sent).await.unwrap();
            there.shutdown().await.unwrap();
        },
        here.read_to_end(&mut received)
    );
    assert_eq!((read.unwrap(), received == sent), (sent.len(), true));
}

#[tokio::test]
async fn bytes_pass_and_later_streams_resume_the_session() {
    let ours = Authority::new("Example CA");
    let [client, server] = ends(&ours, &ours);
    for _ in 0..3 {
        works(&client, &server).await;
    }
    assert_eq!(client.side.handshakes().get(), [3, 2, 0]);
    assert_eq!(server.side.handshakes().get(), [3, 2, 0]);
}

#[tokio::test]
async fn a_server_without_a_trusted_certificate_is_refused_and_hears_it() {
    let [client, server] = ends(&Authority::new("Example CA"), &Authority::new("Other CA"));
    let (here, there) = shaken(&client, &server).await;
    let (here, there) = (here.err().unwrap(), there.err().unwrap());
    assert_eq!([here.kind(), there.kind()], [ErrorKind::Unauthenticated; 2], "{here}, {there}");
    // The certificate is named.
    assert!(here.to_string().contains(NAME), "{here}");
    assert!(there.to_string().contains("does not trust the issuer"), "{there}");
    assert_eq!(client.side.handshakes().get(), [0, 0, 1]);
}

#[tokio::test]
async fn a_server_that_confirms_no_protocol_is_refused() {
    let ours = Authority::new("Example CA");
    let [client, server] = ends(&ours, &ours);
    let silent = Tls { side: server.side.speaking(&[]), ..server.clone() };
    let (here, _) = shaken(&client, &silent).await;
    let refused = here.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Refused, "{refused}");
    assert!(refused.to_string().contains("did not confirm the protocol h2"), "{refused}");
}

#[tokio::test]
async fn a_stream_that_ends_in_the_handshake_is_reset() {
    let ours = Authority::new("Example CA");
    let [client, _] = ends(&ours, &ours);
    let (here, mut there) = duplex(1 << 10);
    there.shutdown().await.unwrap();
    let error = client.stream(here, &"10.0.0.1:80".parse().unwrap()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
    assert!(error.to_string().contains("ended the stream during the TLS handshake"), "{error}");
}
