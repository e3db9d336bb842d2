//! Names in the domain name system, with a DNS server that holds a few records.

use crate::names::kernel::{answers, echo};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, ErrorKind, Resolver, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::Negotiate;
use bertha_negotiation::names::Dns;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::UdpSocket;

const A: u16 = 1;
const AAAA: u16 = 28;
const SRV: u16 = 33;

struct Record {
    name: &'static str,
    kind: u16,
    data: Vec<u8>,
}

fn record(name: &'static str, kind: u16, data: impl Into<Vec<u8>>) -> Record {
    Record { name, kind, data: data.into() }
}

fn labels(name: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        name.split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

fn srv(priority: u16, port: u16, target: &str) -> Vec<u8> {
    [&priority.to_be_bytes()[..], &[0, 0], &port.to_be_bytes(), &labels(target)].concat()
}

/// Makes the answer to a query, with the records of its name and kind.
fn answer(query: &[u8], records: &[Record]) -> Option<Vec<u8>> {
    let end = 12 + query.get(12..)?.iter().position(|byte| *byte == 0)? + 1;
    let question = query.get(12..end + 4)?;
    let kind = u16::from_be_bytes([query[end], query[end + 1]]);
    let name = question[..end - 12].to_ascii_lowercase();
    let found: Vec<_> =
        records.iter().filter(|record| record.kind == kind && labels(record.name) == name).collect();
    let mut reply = [&query[..2], &[0x81, 0x80, 0, 1, 0, found.len() as u8, 0, 0, 0, 0], question].concat();
    for Record { kind, data, .. } in found {
        // The record has the name of the question, the class of the Internet, and a life of a minute.
        reply.extend([&[0xc0, 12], &kind.to_be_bytes()[..], &[0, 1, 0, 0, 0, 60]].concat());
        reply.extend((data.len() as u16).to_be_bytes());
        reply.extend(data);
    }
    Some(reply)
}

async fn dns_server(records: Vec<Record>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let addr = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut query = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut query).await {
            if let Some(reply) = answer(&query[..length], &records) {
                socket.send_to(&reply, from).await.unwrap();
            }
        }
    });
    addr
}

fn addr(text: &str) -> Addr {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_service_has_its_targets_by_priority_and_a_host_its_addresses() {
    let live = echo(Tcp::new(), ([127, 0, 0, 1], 0)).await.ip("test").unwrap().port();
    // No program gets this port by chance.
    let dead = 1;
    let server = dns_server(vec![
        record("_store._tcp.example.test", SRV, srv(2, live, "live.example.test")),
        record("_store._tcp.example.test", SRV, srv(1, dead, "dead.example.test")),
        record("_store._tcp.example.test", SRV, srv(3, 1, "gone.example.test")),
        record("live.example.test", A, Ipv4Addr::LOCALHOST.octets()),
        record("dead.example.test", A, Ipv4Addr::LOCALHOST.octets()),
        record("both.example.test", A, Ipv4Addr::LOCALHOST.octets()),
        record("both.example.test", AAAA, Ipv6Addr::LOCALHOST.octets()),
    ])
    .await;
    let dns = || Dns::by_servers([server]).unwrap();
    let service = "_store._tcp.example.test".parse().unwrap();
    let found = dns().resolve(&service).await.unwrap();
    assert_eq!(found, [addr(&format!("127.0.0.1:{dead}")), addr(&format!("127.0.0.1:{live}"))]);
    let host = "both.example.test:80".parse().unwrap();
    assert_eq!(dns().resolve(&host).await.unwrap(), [addr("[::1]:80"), addr("127.0.0.1:80")]);

    let stack = make_stack!(Serialize::<String>::new());
    let connection = stack.connect(Tcp::new(), "_store._tcp.example.test").resolver(dns()).await.unwrap();
    answers(&connection).await;
    let to = format!("both.example.test:{live}");
    answers(&stack.connect(Tcp::new(), to).resolver(dns()).await.unwrap()).await;

    let error = stack.connect(Tcp::new(), "none.example.test:80").resolver(dns()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("`none.example.test`"), "{error}");
}
