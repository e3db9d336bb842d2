//! Incompatible ends, and messages that do not fit.

use crate::child::Child;
use crate::{LONG, assert_echoes, connect};
use bertha_chunnels::Serialize;
use bertha_chunnels::serialize::Bincode;
use bertha_core::{
    Addr, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, make_stack,
};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::Negotiate;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};

fn server() -> Child {
    Child::serve(&(Ipv4Addr::LOCALHOST, 0).into(), LONG)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_port_is_unreachable() {
    // No program gets this port by chance.
    let closed = Addr::Ip((Ipv4Addr::LOCALHOST, 1).into());
    let error = connect(&closed, LONG).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains(&closed.to_string()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversize_message_fails_alone() {
    let server = server();
    let connection = connect(&server.addr, LONG).await.unwrap();
    let error = connection.send("x".repeat(70_000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    let text = error.to_string();
    assert!(text.contains("Serialize") && text.contains("more than 65499 bytes"), "{text}");
    assert_echoes(&connection).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_codec_is_refused() {
    let server = server();
    let stack = make_stack!(Serialize::<String, Bincode>::new());
    let error = stack.connect(Udp::new(), server.addr.clone()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let text = error.to_string();
    for word in ["client's Serialize", "server's Serialize", "bincode", "postcard"] {
        assert!(text.contains(word), "`{word}` is missing in: {text}");
    }
}

/// A person who mistypes a port finds a web server, and is told so.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_server_is_called_one() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let addr = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut offer = [0; 16];
        stream.read_exact(&mut offer).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // The client ends the connection.
        drop(stream.read_to_end(&mut Vec::new()));
    });
    let error = make_stack!(Serialize::<String>::new()).connect(Tcp::new(), addr).await.err().unwrap();
    served.join().unwrap();
    assert!(error.to_string().contains("the peer speaks HTTP"), "{error:?}");
}

/// Some clients are refused, and others send messages that are no offers.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_survives_bad_clients() {
    let server = server();
    let before = connect(&server.addr, LONG).await.unwrap();
    let Addr::Ip(to) = server.addr.clone() else { unreachable!() };
    let hostile = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for length in [0, 1, 7, 8, 64, 1_400] {
        hostile.send_to(&vec![length as u8; length], to).unwrap();
    }
    for _ in 0..3 {
        let stack = make_stack!(Serialize::<String, Bincode>::new());
        let error = stack.connect(Udp::new(), server.addr.clone()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    }
    assert_echoes(&before).await;
    assert_echoes(&connect(&server.addr, LONG).await.unwrap()).await;
}

/// A Chunnel that the server has not heard of.
#[derive(Debug, Identity)]
struct Compress;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Compress {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_chunnel_is_refused() {
    let server = server();
    let stack = make_stack!(Serialize::<String>::new(), Compress);
    let error = stack.connect(Udp::new(), server.addr.clone()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("client's Compress has no counterpart on the server"), "{error}");
}
