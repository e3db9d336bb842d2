//! A directory that does not enter a service, which serves all the same.

use crate::attacks::packets::{HELD_UP, PATIENCE, Raw, started};
use crate::lines::Lines;
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_local::directory::Rules;
use bertha_local::{Directory, MaybeLocal, MaybeLocalStatistics, Registration, Way};
use bertha_negotiation::Negotiate;
use std::path::Path;
use std::slice::from_ref;
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn directory(path: &Path) -> Directory {
    Directory::at(path).patience(PATIENCE)
}

/// Registers a service that listens at a port, calls it once, and returns the registration, the way of the call, and the log.
async fn served(path: &Path) -> (Registration, Way, String) {
    let (lines, _log) = Lines::capture();
    let stack = |directory| make_stack!(Serialize::<u64>::new(), MaybeLocal::new(directory));
    let server = directory(path);
    let on: Addr = "127.0.0.1:0".parse().unwrap();
    let mut incoming = stack(server.clone()).listen(Tcp::new(), on).await.unwrap();
    let addr = incoming.local_addr();
    let registration = server.register("cart", from_ref(&addr)).await;
    tokio::spawn(async move {
        // The service listens until the end of the test.
        while let Some(connection) = incoming.next().await {
            connection.send(connection.recv().await.unwrap() + 1).await.unwrap();
        }
    });
    let connection = stack(directory(path)).connect(Tcp::new(), addr).await.unwrap();
    connection.send(7).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), 8);
    let way = connection.statistics().get::<MaybeLocalStatistics>().unwrap().way;
    (registration, way, lines.with("").join("\n"))
}

#[tokio::test]
async fn a_squatted_name_leaves_a_service_to_the_network_until_the_squatter_is_gone() {
    let (_folder, path) = started(Rules::new());
    let squatter = Raw::register(&path, "cart");
    let (registration, way, told) = served(&path).await;
    assert!(!registration.is_entered() && matches!(way, Way::Network(_)), "{way}");
    assert!(told.contains("`cart` belongs to another process"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    drop(squatter);
    let entered = async {
        while !registration.is_entered() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(2 * HELD_UP, entered).await.expect("the service is not entered");
    assert!(directory(&path).lookup("cart").await.unwrap().is_some());
}

#[tokio::test]
async fn a_kept_name_and_a_missing_directory_leave_a_service_to_the_network() {
    let (_folder, path) = started(Rules::new().keep_address("127.0.0.1:", 4242));
    let (_registration, way, told) = served(&path).await;
    assert!(matches!(way, Way::Network(_)), "{way}");
    assert!(told.contains("has no right to the address 127.0.0.1:"), "{told}");

    let (_registration, way, told) = served(Path::new("/nowhere/directory.sock")).await;
    assert!(matches!(way, Way::Network(_)), "{way}");
    assert!(told.contains("local clients reach by the network") && told.contains("/nowhere/directory.sock"));
}
