//! The echo and the chain over every transport.

use bertha_core::Addr;
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use bertha_microservice::load::{Load, ask};
use bertha_microservice::{Message, Serving, Site, Transport, services};
use clap::ValueEnum;
use tempfile::TempDir;

fn site(folder: &TempDir) -> Site {
    let site = Site::new(folder.path());
    let server = DirectoryServer::listen(folder.path().join("directory.sock"), Rules::new()).unwrap();
    tokio::spawn(async move { server.serve().await });
    site
}

fn place(transport: Transport, site: &Site, name: &str) -> Addr {
    match transport.has_paths() {
        true => Addr::Unix(site.folder().join(format!("{name}.sock"))),
        false => "127.0.0.1:0".parse().unwrap(),
    }
}

async fn serve(
    transport: Transport,
    site: &Site,
    name: &str,
    handler: bertha_microservice::Handler,
) -> Serving {
    transport.serve(site, name, place(transport, site, name), handler).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_transport_carries_the_echo_and_the_chain() {
    for transport in Transport::value_variants() {
        let folder = TempDir::new().unwrap();
        let (site, transport) = (site(&folder), *transport);
        let echo = serve(transport, &site, "echo", services::echo()).await;
        let latencies =
            ask(transport, &site, &echo.addr, Load { connections: 5, requests: 10 }).await.unwrap();
        assert_eq!(latencies.count(), 50);
        assert!(latencies.quantile(0.5).as_nanos() > 100, "no answer comes so soon: {latencies}");
        println!("{transport:?}: {latencies}");

        let cart = serve(transport, &site, "cart", services::cart()).await;
        let price = serve(transport, &site, "price", services::price()).await;
        let (to_cart, to_price) = (
            transport.connect(&site, cart.addr.clone()).await.unwrap(),
            transport.connect(&site, price.addr.clone()).await.unwrap(),
        );
        let front = serve(transport, &site, "front", services::front(to_cart, to_price)).await;
        let client = transport.connect(&site, front.addr.clone()).await.unwrap();
        let answer = client.ask(Message { customer: 7, items: Vec::new() }).await.unwrap();
        let prices: Vec<_> = answer.items.iter().map(|item| item.price).collect();
        assert_eq!(prices, [Some(799), Some(899), Some(999)], "over {transport:?}");
    }
}
