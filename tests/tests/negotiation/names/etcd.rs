//! Names in a real etcd.

use crate::names::kernel::{answers, echo};
use bertha_chunnels::Serialize;
use bertha_core::{ErrorKind, Resolver, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::Negotiate;
use bertha_negotiation::names::{Etcd, etcd_client};

#[tokio::test]
async fn a_service_has_the_addresses_that_its_instances_wrote() {
    let Some(url) = bertha_tests::service("BERTHA_ETCD") else { return };
    let prefix = format!("/bertha/tests/names-{}/", std::process::id());
    let endpoint = url.replace("etcd://", "http://");
    let mut client = etcd_client::Client::connect([endpoint], None).await.unwrap();
    let live = echo(Tcp::new(), ([127, 0, 0, 1], 0)).await;
    // No program gets this port by chance.
    let dead: std::net::SocketAddr = ([127, 0, 0, 1], 1).into();
    for (key, value) in
        [("store/b", live.to_string()), ("store/a", dead.to_string()), ("store/c", "nonsense".into())]
    {
        client.put(format!("{prefix}{key}"), value, None).await.unwrap();
    }
    client.put(format!("{prefix}storehouse/a"), "10.0.0.1:1", None).await.unwrap();

    let resolver = || Etcd::new(&url, &*prefix).unwrap();
    let found = resolver().resolve(&"store".parse().unwrap()).await.unwrap();
    assert_eq!(found, [dead.into(), live.clone()]);
    let stack = make_stack!(Serialize::<String>::new());
    answers(&stack.connect(Tcp::new(), "store").resolver(resolver()).await.unwrap()).await;
    let over = Etcd::over(client.clone(), &*prefix);
    answers(&stack.connect(Tcp::new(), "store").resolver(over).await.unwrap()).await;

    let unknown = stack.connect(Tcp::new(), "shop").resolver(resolver()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unreachable);
    let with_port = stack.connect(Tcp::new(), "store:80").resolver(resolver()).await.unwrap_err();
    assert_eq!(with_port.kind(), ErrorKind::Invalid);
    let everything = etcd_client::DeleteOptions::new().with_prefix();
    client.delete(&*prefix, Some(everything)).await.unwrap();
}
