//! Ends that disappear without closing.

use crate::child::Child;
use crate::{LONG, SHORT, assert_echoes, connect, end_of, idle};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, ErrorKind, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::Negotiate;
use bertha_negotiation::testing::wire::{self, Kind};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;
use tokio::sync::mpsc;

fn anywhere() -> Addr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_unreachable_for_a_client_that_waits() {
    let mut server = Child::serve(&anywhere(), SHORT);
    let connection = connect(&server.addr, SHORT).await.unwrap();
    assert_echoes(&connection).await;
    server.kill();
    let error = end_of(&connection).await;
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    let text = error.to_string();
    assert!(text.contains(&server.addr.to_string()) && text.contains("refused"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_given_up_after_the_idle_time_out() {
    let server = Child::serve(&anywhere(), SHORT);
    let connection = connect(&server.addr, SHORT).await.unwrap();
    assert_echoes(&connection).await;
    server.stop();
    let error = end_of(&connection).await;
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("nothing was heard from the peer"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_resets_its_old_clients_and_takes_them_again() {
    let mut server = Child::serve(&anywhere(), LONG);
    let old = connect(&server.addr, LONG).await.unwrap();
    assert_echoes(&old).await;
    server.kill();
    let server = Child::serve(&server.addr, LONG);
    old.send("still there?".into()).await.unwrap();
    let error = end_of(&old).await;
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
    assert!(error.to_string().contains("connect again"), "{error}");
    assert_echoes(&connect(&server.addr, LONG).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_client_times_out_and_leaves_nothing_behind() {
    let stack = make_stack!(Serialize::<String>::new());
    let mut incoming = stack.listen(Udp::new(), anywhere()).settings(idle(SHORT)).await.unwrap();
    let server = incoming.local_addr();
    let (report, mut ends) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(client) = incoming.next_or_refusal().await {
            let (connection, report) = (client.unwrap(), report.clone());
            tokio::spawn(async move {
                let end = loop {
                    match connection.recv().await {
                        Ok(message) => connection.send(message).await.unwrap(),
                        Err(error) => break error,
                    }
                };
                drop(connection);
                report.send(end).unwrap();
            });
        }
    });

    let mut client = Child::ask(&server, SHORT);
    client.kill();
    let end = tokio::time::timeout(Duration::from_secs(60), ends.recv()).await.expect("an end").unwrap();
    assert_eq!(end.kind(), ErrorKind::TimedOut, "{end}");
    assert!(end.to_string().contains("nothing was heard from the peer"), "{end}");

    // The server tells the next user of the client's address that there is no such connection.
    let (Addr::Ip(client), Addr::Ip(server)) = (&client.addr, &server) else { unreachable!() };
    let successor = UdpSocket::bind(client).unwrap();
    successor.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(Kind::Data as u8, 0);
    successor.send_to(b"\0\x01\x02\x03\x04\x05\x06\x07are you there?", server).unwrap();
    let mut reply = [0; 64];
    // Keep-alives to the client may have come before.
    loop {
        let len = tokio::task::block_in_place(|| successor.recv(&mut reply)).unwrap();
        match wire::header(&reply[..len]) {
            Some((Kind::KeepAlive | Kind::Close, _)) => {}
            Some((kind, _)) => return assert_eq!(kind, Kind::Reset),
            None => panic!("{:?} is no message", &reply[..len]),
        }
    }
}
